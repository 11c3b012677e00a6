// What a trace tells.

#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/convert.h"

namespace sluice {
namespace {

constexpr size_t kMaxFrame = 65535;

v1::OutputFate FateToProto(TracedOutput::Fate fate) {
  switch (fate) {
    case TracedOutput::Fate::kSent:
      return v1::OUTPUT_FATE_SENT;
    case TracedOutput::Fate::kDown:
      return v1::OUTPUT_FATE_DOWN;
    case TracedOutput::Fate::kMtu:
      return v1::OUTPUT_FATE_MTU;
    case TracedOutput::Fate::kNoBuffers:
      return v1::OUTPUT_FATE_NO_BUFFERS;
  }
  return v1::OUTPUT_FATE_UNSPECIFIED;
}

void BytesToProto(const FrameBytes& bytes, std::string* out) { out->assign(bytes.begin(), bytes.end()); }

// A field is there if what is before it says that it may be, and its own bits that it is.
bool HasField(const PacketKey& key, const FieldInfo& info, const Match& before) {
  const FieldLayout& layout = LayoutOf(info.field);
  uint16_t bits;
  std::memcpy(&bits, reinterpret_cast<const char*>(&key) + layout.required_offset, sizeof bits);
  return (bits & layout.required) == layout.required && Meets(info.prerequisite, HeadersOf(before));
}

// Said by others, or by its absence.
bool GoesWithoutSaying(const PacketKey& key, Field field) {
  if (field == Field::kNone || field == Field::kVlanTci || field == Field::kInnerVlanTci) return true;
  const bool usual = IsPipelineField(field) || field == Field::kVlanPresent || field == Field::kInnerVlanPresent;
  return usual && GetField(key, field) == 0;
}

void PacketToProto(const PacketKey& key, v1::Match* out) {
  Match match;
  for (const FieldInfo& info : Fields()) {
    if (GoesWithoutSaying(key, info.field) || !HasField(key, info, match)) continue;
    MatchOn(match, info.field, GetField(key, info.field), info.all);
  }
  MatchToProto(match, out);
}

void TracedActionToProto(const TracedAction& traced, v1::TracedAction* out) {
  ProtoActions actions;
  ActionsToProto({traced.action}, &actions);
  out->mutable_action()->Swap(&actions[0]);
  out->set_carried_out(traced.carried_out);
  BytesToProto(traced.after, out->mutable_frame());
  out->set_to_controllers(traced.to_controllers);
  for (const TracedOutput& output : traced.outputs) {
    v1::TracedOutput* sent = out->add_outputs();
    sent->set_port(output.port);
    sent->set_fate(FateToProto(output.fate));
    BytesToProto(output.frame, sent->mutable_frame());
  }
}

void TracedTableToProto(const TracedTable& table, v1::TracedTable* out) {
  out->set_table_id(table.table_id);
  PacketToProto(table.key, out->mutable_packet());
  for (const PacketKey& mask : table.masks) MaskToProto(mask, out->add_masks());
  if (!table.flows.empty()) FlowToProto(table.flows.front(), out->mutable_flow());
  for (size_t i = 1; i < table.flows.size(); ++i) FlowToProto(table.flows[i], out->add_beaten());
  out->set_beaten_left_out(table.flows_left_out);
  out->set_miss_policy(MissPolicyToProto(table.miss_policy));
  for (const TracedAction& action : table.actions) TracedActionToProto(action, out->add_actions());
}

}  // namespace

void FrameFromProto(const std::string& in, const Path& path, ViolationList& violations, FrameBytes& out) {
  if (in.empty() || in.size() > kMaxFrame) {
    violations.Add(path, absl::StrCat("the frame has ", in.size(), " bytes: 1 to ", kMaxFrame));
  }
  out.assign(in.begin(), in.end());
}

void TraceToProto(const TraceResult& trace, v1::TracePacketResponse* out) {
  for (const TracedTable& table : trace.tables) TracedTableToProto(table, out->add_tables());
  for (const TracedAction& action : trace.action_set) TracedActionToProto(action, out->add_action_set());
  out->set_forwarded(trace.forwarded);
  if (!trace.forwarded) out->set_drop_reason(DropReasonName(trace.drop_reason));
}

}  // namespace sluice
