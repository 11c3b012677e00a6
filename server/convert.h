// Between the API's messages and the dataplane's types. All validation of what
// clients send stands here and in the .cc files beside it (convert_*.cc), and
// nowhere else: what passes may be handed to the dataplane as it is.
//
// …FromProto fills `out` as far as it can and adds what is wrong to the list;
// `out` may be used only if nothing was added. On the way that succeeds no text
// is made and nothing is looked up by reflection. …ToProto gives canonical
// messages: what they say passes …FromProto again and means the same.
//
// Files: convert_field.cc values under masks, convert_match.cc matches,
// convert_action.cc and convert_action_to_proto.cc actions, convert_reason.cc why packets go to controllers,
// convert_flow.cc flows, keys and filters, convert_group.cc groups, convert_meter.cc meters, convert_port.cc ports,
// convert_switch.cc settings and what is only read, convert_trace.cc traces, convert_capture.cc captures.
//
// Pure; any thread.

#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "dataplane/dataplane.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/port/port_config.h"
#include "google/protobuf/duration.pb.h"
#include "server/field_table.h"
#include "server/violations.h"
#include "sluice/v1/capture_service.pb.h"
#include "sluice/v1/flow.pb.h"
#include "sluice/v1/flow_service.pb.h"
#include "sluice/v1/group_service.pb.h"
#include "sluice/v1/meter_service.pb.h"
#include "sluice/v1/port_service.pb.h"
#include "sluice/v1/switch_service.pb.h"
#include "sluice/v1/table_service.pb.h"
#include "sluice/v1/trace_service.pb.h"

namespace sluice {

inline constexpr uint32_t kMaxTableId = 254;
inline constexpr uint32_t kMaxPriority = 65535;
// Ports by MTU: the smallest that IPv4 allows, and the longest frame that DPDK's length fields can say.
inline constexpr uint32_t kMinMtu = 68;
inline constexpr uint32_t kMaxMtu = 65535;
inline constexpr uint32_t kDefaultMtu = 1500;
inline constexpr uint32_t kMaxRxQueues = 128;
inline constexpr int64_t kMaxTimeoutSeconds = 65535;
inline constexpr int64_t kMaxResortSeconds = 24 * 3600;

// Limits that belong to the API, not to the flow table.
struct ApiLimits {
  uint32_t actions_per_flow = 64;
  uint32_t batch_items = 10'000;
  uint32_t watchers = 64;
  uint32_t buckets_per_group = 64;
  uint32_t packet_in_clients = 16;        // that listen at a time
  uint32_t packet_ins_per_second = 1000;  // of each client
  uint32_t packet_in_queue = 1000;        // packets that wait for each client
  uint32_t packet_outs_per_second = 10'000;
  uint32_t packet_out_queue = 1000;  // packets that wait for a worker
  uint32_t captures = 8;             // at a time
};

void MatchFromProto(const v1::Match& in, const Path& path, ViolationList& violations, Match& out);
void MatchToProto(const Match& match, v1::Match* out);
// A mask alone: see Mask in table_service.proto.
void MaskToProto(const PacketKey& mask, v1::Match* out);

using ProtoActions = google::protobuf::RepeatedPtrField<v1::Action>;
// Of a flow whose table is not known: every table is behind it.
inline constexpr int kAnyTable = -1;
// The field "actions" of `parent`; `known` is what the flow's match makes certain, table_id the flow's.
void ActionsFromProto(const ProtoActions& in, const KnownHeaders& known, int table_id, uint32_t max_actions,
                      const Path* parent, ViolationList& violations, ActionList& out);
// A bucket's, which make an action set; of its packets nothing is known.
void ActionSetFromProto(const ProtoActions& in, uint32_t max_actions, const Path& parent, ViolationList& violations,
                        ActionList& out);
void ActionsToProto(const ActionList& actions, ProtoActions* out);
// UNSPECIFIED is none.
void PacketReasonFromProto(v1::PacketReason in, const Path& path, ViolationList& violations, PuntReason& out);
v1::PacketReason PacketReasonToProto(PuntReason reason);

void FlowSpecFromProto(const v1::FlowSpec& in, const ApiLimits& limits, const Path& path, ViolationList& violations,
                       FlowSpec& out);
void TimeoutFromProto(const google::protobuf::Duration& in, const Path& path, ViolationList& violations, uint16_t& out);
void FlowKeyFromProto(const v1::FlowKey& in, const Path& path, ViolationList& violations, FlowKey& out);
void FlowFilterFromProto(const v1::FlowFilter& in, const Path& path, ViolationList& violations, FlowFilter& out);
void FlowStatsToProto(const FlowStats& stats, v1::FlowStats* out);
void FlowToProto(const FlowInfo& flow, v1::Flow* out);

void GroupIdFromProto(uint32_t id, const Path& path, ViolationList& violations);
void GroupSpecFromProto(const v1::GroupSpec& in, const ApiLimits& limits, const Path& path, ViolationList& violations,
                        GroupSpec& out);
void GroupToProto(const GroupInfo& group, v1::Group* out);
void MeterIdFromProto(uint32_t id, const Path& path, ViolationList& violations);
void MeterSpecFromProto(const v1::MeterSpec& in, const Path& path, ViolationList& violations, MeterSpec& out);
void MeterToProto(const MeterInfo& meter, v1::Meter* out);

void PortConfigFromProto(const v1::PortSpec& in, const Path& path, ViolationList& violations, PortConfig& out);
void PortChangeFromProto(const v1::UpdatePortRequest& in, ViolationList& violations, Dataplane::PortChange& out);
void PortToProto(const PortInfo& port, v1::Port* out);
// The rules for names of ports, also for the configuration. Empty: right; else what is wrong and what would be right.
std::string CheckPortName(absl::string_view name);

// What may be set while the switch runs.
struct Settings {
  uint32_t flow_cache_entries = 0;
  ClassifierOptions classifier;
};

// `out` holds what is set now, and keeps it where the request says nothing.
void SettingsFromProto(const v1::UpdateSettingsRequest& in, ViolationList& violations, Settings& out);
void SettingsToProto(const Settings& settings, v1::Settings* out);

void MissPolicyFromProto(v1::MissPolicy in, const Path& path, ViolationList& violations, MissPolicy& out);
v1::MissPolicy MissPolicyToProto(MissPolicy policy);
void TableToProto(const TableInfo& table, v1::Table* out);
void MaskInfoToProto(const MaskInfo& mask, v1::Mask* out);
void WorkerToProto(const WorkerInfo& worker, v1::Worker* out);
void TotalsToProto(const PacketTotals& totals, v1::PacketTotals* out);

void FrameFromProto(const std::string& in, const Path& path, ViolationList& violations, FrameBytes& out);
// But for the port or flow, which must be looked up.
void CaptureSpecFromProto(const v1::CaptureRequest& in, ViolationList& violations, CaptureSpec& out);
// Without data and the port's name.
void CapturedPacketToProto(const CapturedPacket& packet, v1::CapturedPacket* out);

void TraceToProto(const TraceResult& trace, v1::TracePacketResponse* out);

}  // namespace sluice
