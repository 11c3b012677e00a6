// Any bytes as a request, through the conversion: it is refused with the places
// that are wrong, in a reply that fits on the wire; or what the dataplane gets,
// turned back into a message and converted again, is the same.
//
// Input: which request (1 byte), the request as protobuf has it on the wire.

#include <google/protobuf/stubs/logging.h>

#include "google/rpc/error_details.pb.h"
#include "server/convert.h"
#include "server/page_token.h"
#include "server/status.h"
#include "tests/fuzz/input.h"

namespace sluice::fuzz {
namespace {

// protobuf says on standard error what it does not take.
[[maybe_unused]] auto* const kBefore = google::protobuf::SetLogHandler(nullptr);

// True if there is nothing wrong.
bool Accepted(const ViolationList& violations) {
  if (violations.empty()) return true;
  const absl::Status status = violations.ToStatus();
  const WireStatus wire = ToWireStatus(status);
  if (wire.code == 0 || wire.message.empty() || wire.message.size() > kMaxMessageBytes) Fail("an error without text");
  if (wire.details.size() > kMaxDetailBytes) Fail("details that do not fit");
  google::rpc::Status details;
  google::rpc::BadRequest bad;
  const bool read =
      details.ParseFromString(wire.details) && details.details_size() == 1 && details.details(0).UnpackTo(&bad);
  if (!read || bad.field_violations_size() == 0) Fail("an error that names no field: " + wire.message);
  for (const auto& violation : bad.field_violations()) {
    if (violation.field().empty() || violation.description().empty()) Fail("a violation that says nothing");
  }
  return false;
}

// That a port has a range, its mask says; and no bits then.
void CheckRange(PortRange range, uint16_t bits, bool said) {
  if ((range != PortRange{}) != said) Fail("a mask that says otherwise than the ranges");
  if (said && (bits != 0 || range.first >= range.last)) Fail("a range that is none");
}

void CheckMatch(const Match& match) {
  CheckRange(match.ports.source, match.mask.l4_src, (match.mask.present & kRangedSource) != 0);
  CheckRange(match.ports.destination, match.mask.l4_dst, (match.mask.present & kRangedDestination) != 0);
  v1::Match out;
  MatchToProto(match, &out);
  ViolationList violations;
  Match again;
  MatchFromProto(out, Path("match"), violations, again);
  if (!violations.empty()) Fail("a match of ours is refused: " + out.DebugString() + violations.ToStatus().ToString());
  if (!(again == match)) Fail("a match does not come back: " + out.DebugString());
  for (size_t i = 0; i < kKeyWords; ++i) {
    if ((WordOf(match.value, i) & ~WordOf(match.mask, i)) != 0) Fail("a match with bits outside its mask");
  }
  v1::Match mask;
  MaskToProto(match.mask, &mask);
}

void CheckSpec(const v1::FlowSpec& in) {
  ViolationList violations;
  FlowInfo flow;
  FlowSpecFromProto(in, ApiLimits{}, Path("flow"), violations, flow.spec);
  if (!Accepted(violations)) return;
  CheckMatch(flow.spec.match);
  v1::Flow out;
  FlowToProto(flow, &out);
  FlowSpec again;
  FlowSpecFromProto(out.spec(), ApiLimits{}, Path("flow"), violations, again);
  if (!violations.empty()) Fail("a flow of ours is refused: " + out.DebugString() + violations.ToStatus().ToString());
  const bool same = again.match == flow.spec.match && again.actions == flow.spec.actions &&
                    again.priority == flow.spec.priority && again.cookie == flow.spec.cookie &&
                    again.table_id == flow.spec.table_id;
  if (!same) Fail("a flow does not come back: " + out.DebugString());
}

void CheckKey(const v1::FlowKey& in) {
  ViolationList violations;
  FlowKey key;
  FlowKeyFromProto(in, Path("key"), violations, key);
  if (!Accepted(violations)) return;
  if (const auto* identity = std::get_if<FlowIdentity>(&key)) CheckMatch(identity->match);
}

void CheckItem(const v1::BatchItem& item) {
  if (item.has_create()) CheckSpec(item.create().flow());
  if (item.has_delete_()) CheckKey(item.delete_().key());
  if (!item.has_update()) return;
  CheckKey(item.update().key());
  KnownHeaders anything;
  anything.anything = true;
  ViolationList violations;
  ActionList actions, again;
  ActionsFromProto(item.update().actions(), anything, kAnyTable, ApiLimits{}.actions_per_flow, nullptr, violations,
                   actions);
  if (!Accepted(violations)) return;
  ProtoActions out;
  ActionsToProto(actions, &out);
  ActionsFromProto(out, anything, kAnyTable, ApiLimits{}.actions_per_flow, nullptr, violations, again);
  if (!violations.empty() || again != actions) Fail("actions do not come back: " + item.DebugString());
}

void CheckList(const v1::ListFlowsRequest& request) {
  ViolationList violations;
  FlowFilter filter;
  FlowFilterFromProto(request.filter(), Path("filter"), violations, filter);
  if (!Accepted(violations)) return;
  CheckMatch(filter.match);
  uint64_t after = 0;
  ReadPageToken(request.page_token(), 1, filter, after);
  if (!ReadPageToken(MakePageToken(1, filter, 77), 1, filter, after) || after != 77) Fail("a page token of ours");
}

void CheckPort(const v1::PortSpec& in) {
  ViolationList violations;
  PortInfo port, again;
  PortConfigFromProto(in, Path("port"), violations, port.config);
  if (!Accepted(violations)) return;
  if (!DevargsOf(port.config, 7).ok()) Fail("device arguments: " + in.DebugString());
  v1::Port out, out_again;
  PortToProto(port, &out);
  PortConfigFromProto(out.spec(), Path("port"), violations, again.config);
  if (!violations.empty()) Fail("a port of ours is refused: " + out.DebugString() + violations.ToStatus().ToString());
  PortToProto(again, &out_again);
  if (out.spec().SerializeAsString() != out_again.spec().SerializeAsString()) Fail("a port does not come back");
}

void CheckSettings(const v1::UpdateSettingsRequest& in) {
  ViolationList violations;
  Settings settings, again;
  SettingsFromProto(in, violations, settings);
  if (!Accepted(violations)) return;
  v1::Settings out;
  SettingsToProto(settings, &out);
  v1::UpdateSettingsRequest all;
  all.set_flow_cache_entries(out.flow_cache_entries());
  all.set_pruning(out.pruning());
  all.set_equal_priority(out.equal_priority());
  all.set_mask_cache_entries(out.mask_cache_entries());
  *all.mutable_resort_period() = out.resort_period();
  SettingsFromProto(all, violations, again);
  if (!violations.empty()) Fail("settings of ours are refused: " + out.DebugString());
  const bool same = again.flow_cache_entries == settings.flow_cache_entries && again.classifier == settings.classifier;
  if (!same) Fail("settings do not come back: " + out.DebugString());
}

// gRPC refuses what is no such message before anything of ours sees it.
template <typename Message>
std::optional<Message> Read(const std::string& bytes) {
  Message message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
  return message;
}

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  fuzz::Input input(data, size);
  const uint8_t kind = input.Byte();
  const std::string bytes = input.RestAsText();
  switch (kind % 5) {
    case 0:
      if (const auto request = fuzz::Read<v1::CreateFlowRequest>(bytes)) fuzz::CheckSpec(request->flow());
      break;
    case 1:
      if (const auto request = fuzz::Read<v1::BatchWriteRequest>(bytes)) {
        for (const v1::BatchItem& item : request->items()) fuzz::CheckItem(item);
      }
      break;
    case 2:
      if (const auto request = fuzz::Read<v1::ListFlowsRequest>(bytes)) fuzz::CheckList(*request);
      break;
    case 3:
      if (const auto request = fuzz::Read<v1::CreatePortRequest>(bytes)) fuzz::CheckPort(request->port());
      break;
    default:
      if (const auto request = fuzz::Read<v1::UpdateSettingsRequest>(bytes)) fuzz::CheckSettings(*request);
      break;
  }
  return 0;
}
