#include "server/mac_api.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/proto_time.h"

namespace sluice {
namespace {

constexpr uint32_t kDefaultMacPage = 1000;
constexpr uint32_t kMaxMacPage = 10'000;
constexpr uint32_t kMaxVlan = 4095;
constexpr int kMacBits = 48;

// Where a listing goes on: behind this VLAN and address.
uint64_t PositionOf(const MacEntry& entry) { return uint64_t{entry.vlan} << kMacBits | entry.mac; }

void MacFilterFromProto(const v1::MacFilter& in, ViolationList& violations, MacFilter& out) {
  const Path path("filter");
  if (in.has_port()) {
    out.port = in.port();
    if (in.port() == 0 || in.port() > kMaxPortNumber) {
      violations.Add(Path(path, "port"), absl::StrCat(in.port(), " is no port's number: 1 to ", kMaxPortNumber));
    }
  }
  if (in.has_vlan_id()) {
    out.vlan = static_cast<uint16_t>(in.vlan_id());
    if (in.vlan_id() > kMaxVlan) {
      violations.Add(Path(path, "vlan_id"), absl::StrCat(in.vlan_id(), " is no VLAN: 0 (untagged) to ", kMaxVlan));
    }
  }
  if (in.has_mac()) {
    out.mac = in.mac();
    if (in.mac() >> kMacBits != 0) {
      violations.Add(Path(path, "mac"), absl::StrCat("0x", absl::Hex(in.mac()), " has more than 48 bits"));
    }
  }
}

uint64_t TokenFromProto(const std::string& token, ViolationList& violations) {
  uint64_t after = 0;
  if (!token.empty() && (token.size() > 16 || !absl::SimpleHexAtoi(token, &after))) {
    violations.Add(Path("page_token"), "not a token: take next_page_token of the page before, or none for the first");
  }
  return after;
}

void MacTableToProto(const MacTableInfo& table, v1::MacTable* out) {
  out->set_entries(table.entries);
  out->set_max_entries(table.options.entries);
  out->mutable_max_age()->set_seconds(table.options.age_seconds);
  out->set_learned(table.learned);
  out->set_moved(table.moved);
  out->set_evicted(table.evicted);
  out->set_expired(table.expired);
}

void MacToProto(const MacEntry& entry, v1::Mac* out) {
  out->set_mac(entry.mac);
  out->set_vlan_id(entry.vlan);
  out->set_port(entry.port);
  out->mutable_age()->set_seconds(entry.age_seconds);
}

}  // namespace

absl::Status MacApi::ListMacs(const v1::ListMacsRequest& request, v1::ListMacsResponse* response) const {
  ViolationList violations;
  MacFilter filter;
  MacFilterFromProto(request.filter(), violations, filter);
  if (request.page_size() > kMaxMacPage) {
    violations.Add(Path("page_size"), absl::StrCat(request.page_size(), " stations are too many for a page: 1 to ",
                                                   kMaxMacPage, ", or 0 for ", kDefaultMacPage));
  }
  const uint64_t after = TokenFromProto(request.page_token(), violations);
  if (!violations.empty()) return violations.ToStatus();
  const uint32_t page = request.page_size() == 0 ? kDefaultMacPage : request.page_size();
  const std::vector<MacEntry> entries = dataplane_.ListMacs(filter);
  auto at = std::ranges::upper_bound(entries, after, {}, PositionOf);
  if (request.page_token().empty()) at = entries.begin();
  for (uint32_t n = 0; at != entries.end() && n < page; ++n) MacToProto(*at++, response->add_macs());
  if (at != entries.end()) response->set_next_page_token(absl::StrCat(absl::Hex(PositionOf(*std::prev(at)))));
  MacTableToProto(dataplane_.Macs(), response->mutable_table());
  return absl::OkStatus();
}

absl::Status MacApi::FlushMacs(const v1::FlushMacsRequest& request, v1::FlushMacsResponse* response) {
  ViolationList violations;
  MacFilter filter;
  MacFilterFromProto(request.filter(), violations, filter);
  if (!violations.empty()) return violations.ToStatus();
  response->set_flushed(static_cast<uint32_t>(dataplane_.FlushMacs(filter)));
  return absl::OkStatus();
}

}  // namespace sluice
