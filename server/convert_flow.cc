// Flows, the keys that name them and the filters that select them.

#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/proto_time.h"

namespace sluice {
namespace {

bool CheckTable(uint32_t table_id, const Path& path, ViolationList& violations) {
  if (table_id <= kMaxTableId) return true;
  violations.Add(Path(path, "table_id"), absl::StrCat("there is no table ", table_id, ": 0 to ", kMaxTableId));
  return false;
}

void CheckPriority(uint32_t priority, const Path& path, ViolationList& violations) {
  if (priority <= kMaxPriority) return;
  violations.Add(Path(path, "priority"), absl::StrCat(priority, " is too high a priority: 0 to ", kMaxPriority));
}

}  // namespace

void TimeoutFromProto(const google::protobuf::Duration& in, const Path& path, ViolationList& violations,
                      uint16_t& out) {
  if (in.nanos() != 0) {
    violations.Add(path, absl::StrCat(in.seconds(), " s and ", in.nanos(), " ns: timeouts are whole seconds, 1 to ",
                                      kMaxTimeoutSeconds));
  } else if (in.seconds() < 0 || in.seconds() > kMaxTimeoutSeconds) {
    violations.Add(path, absl::StrCat(in.seconds(), " s is no timeout: 1 to ", kMaxTimeoutSeconds,
                                      " seconds, or leave it out for none"));
  } else {
    out = static_cast<uint16_t>(in.seconds());
  }
}

void FlowSpecFromProto(const v1::FlowSpec& in, const ApiLimits& limits, const Path& path, ViolationList& violations,
                       FlowSpec& out) {
  CheckTable(in.table_id(), path, violations);
  CheckPriority(in.priority(), path, violations);
  if (in.has_idle_timeout()) {
    TimeoutFromProto(in.idle_timeout(), Path(path, "idle_timeout"), violations, out.timeouts.idle);
  }
  if (in.has_hard_timeout()) {
    TimeoutFromProto(in.hard_timeout(), Path(path, "hard_timeout"), violations, out.timeouts.hard);
  }
  const size_t before = violations.count();
  MatchFromProto(in.match(), Path(path, "match"), violations, out.match);
  KnownHeaders headers = HeadersOf(out.match);
  headers.anything = violations.count() != before;
  ActionsFromProto(in.actions(), headers, static_cast<int>(in.table_id()), limits.actions_per_flow, &path, violations,
                   out.actions);
  out.table_id = static_cast<uint8_t>(in.table_id());
  out.priority = static_cast<uint16_t>(in.priority());
  out.cookie = in.cookie();
}

void FlowKeyFromProto(const v1::FlowKey& in, const Path& path, ViolationList& violations, FlowKey& out) {
  if (in.key_case() == v1::FlowKey::kId) {
    out = in.id();
    return;
  }
  if (in.key_case() == v1::FlowKey::KEY_NOT_SET) {
    violations.Add(path, "names no flow: set id or identity");
    return;
  }
  const v1::FlowIdentity& identity = in.identity();
  const Path at(path, "identity");
  FlowIdentity& key = out.emplace<FlowIdentity>();
  CheckTable(identity.table_id(), at, violations);
  CheckPriority(identity.priority(), at, violations);
  MatchFromProto(identity.match(), Path(at, "match"), violations, key.match);
  key.table_id = static_cast<uint8_t>(identity.table_id());
  key.priority = static_cast<uint16_t>(identity.priority());
}

void FlowFilterFromProto(const v1::FlowFilter& in, const Path& path, ViolationList& violations, FlowFilter& out) {
  out = FlowFilter{};
  if (in.has_table_id()) {
    CheckTable(in.table_id(), path, violations);
    out.table_id = static_cast<uint8_t>(in.table_id());
  }
  if (in.has_priority()) {
    CheckPriority(in.priority(), path, violations);
    out.priority = static_cast<uint16_t>(in.priority());
  }
  if (in.has_out_port()) {
    if (in.out_port() == 0 || in.out_port() > kMaxPortNumber) {
      violations.Add(Path(path, "out_port"),
                     absl::StrCat(in.out_port(), " is no port's number: 1 to ", kMaxPortNumber));
    }
    out.out_port = in.out_port();
  }
  MatchFromProto(in.match(), Path(path, "match"), violations, out.match);
  out.cookie = in.cookie();
  out.cookie_mask = in.cookie_mask();
}

void FlowStatsToProto(const FlowStats& stats, v1::FlowStats* out) {
  out->set_packets(stats.packets);
  out->set_bytes(stats.bytes);
  if (stats.last_used != absl::InfinitePast()) TimeToProto(stats.last_used, out->mutable_last_used_time());
}

void FlowToProto(const FlowInfo& flow, v1::Flow* out) {
  out->set_id(flow.id);
  v1::FlowSpec* spec = out->mutable_spec();
  spec->set_table_id(flow.spec.table_id);
  spec->set_priority(flow.spec.priority);
  MatchToProto(flow.spec.match, spec->mutable_match());
  ActionsToProto(flow.spec.actions, spec->mutable_actions());
  spec->set_cookie(flow.spec.cookie);
  if (flow.spec.timeouts.idle != 0) spec->mutable_idle_timeout()->set_seconds(flow.spec.timeouts.idle);
  if (flow.spec.timeouts.hard != 0) spec->mutable_hard_timeout()->set_seconds(flow.spec.timeouts.hard);
  FlowStatsToProto(flow.stats, out->mutable_stats());
  TimeToProto(flow.create_time, out->mutable_create_time());
  if (flow.modify_time != absl::InfinitePast()) TimeToProto(flow.modify_time, out->mutable_modify_time());
}

}  // namespace sluice
