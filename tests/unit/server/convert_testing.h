// Short forms for requests in tests of the conversion.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "server/status.h"
#include "sluice/v1/flow.pb.h"

namespace sluice::testing {

constexpr uint64_t kIpv4 = 0x0800;
constexpr uint64_t kArp = 0x0806;
constexpr uint64_t kIpv6 = 0x86dd;
constexpr uint64_t kMpls = 0x8847;

// Builds a match: MatchBuilder().On(v1::FIELD_ETH_TYPE, 0x0800).On(…).match().
class MatchBuilder {
 public:
  MatchBuilder& On(v1::Field field, uint64_t value, std::optional<uint64_t> mask = std::nullopt) {
    v1::FieldMatch* out = match_.add_fields();
    out->set_field(field);
    out->set_value(value);
    if (mask) out->set_mask(*mask);
    return *this;
  }
  MatchBuilder& Range(v1::Field field, uint64_t first, uint64_t last) {
    On(field, first);
    match_.mutable_fields(match_.fields_size() - 1)->set_last(last);
    return *this;
  }
  MatchBuilder& Wide(v1::Field field, std::string value, std::string mask = "") {
    v1::FieldMatch* out = match_.add_fields();
    out->set_field(field);
    out->set_wide_value(std::move(value));
    out->set_wide_mask(std::move(mask));
    return *this;
  }
  MatchBuilder& EthType(uint64_t type) { return On(v1::FIELD_ETH_TYPE, type); }
  MatchBuilder& Ip(uint64_t type, uint64_t proto) { return EthType(type).On(v1::FIELD_IP_PROTO, proto); }
  MatchBuilder& Nd(uint64_t icmpv6_type) { return Ip(kIpv6, 58).On(v1::FIELD_ICMPV6_TYPE, icmpv6_type); }
  const v1::Match& match() const { return match_; }

 private:
  v1::Match match_;
};

inline v1::Action SetField(v1::Field field, uint64_t value, std::optional<uint64_t> mask = std::nullopt) {
  v1::Action action;
  action.mutable_set_field()->set_field(field);
  action.mutable_set_field()->set_value(value);
  if (mask) action.mutable_set_field()->set_mask(*mask);
  return action;
}

inline v1::Action Output(uint32_t port) {
  v1::Action action;
  action.mutable_output()->set_port(port);
  return action;
}

inline v1::Action PushVlan(uint32_t tpid = 0x8100, bool only_if_untagged = false) {
  v1::Action action;
  action.mutable_push_vlan()->set_tpid(tpid);
  action.mutable_push_vlan()->set_only_if_untagged(only_if_untagged);
  return action;
}

inline v1::Action PopVlan() {
  v1::Action action;
  action.mutable_pop_vlan();
  return action;
}

inline google::rpc::BadRequest BadRequestOf(const absl::Status& status) {
  google::rpc::BadRequest details;
  const google::rpc::Status rpc = ToRpcStatus(status);
  if (rpc.details_size() == 1) rpc.details(0).UnpackTo(&details);
  return details;
}

// The fields that its violations name.
inline std::vector<std::string> FieldsOf(const absl::Status& status) {
  std::vector<std::string> fields;
  const google::rpc::BadRequest details = BadRequestOf(status);
  for (const auto& violation : details.field_violations()) fields.push_back(violation.field());
  return fields;
}

}  // namespace sluice::testing
