#include "server/switch_api.h"

#include <cstdint>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/proto_time.h"

namespace sluice {
namespace {

void FieldsToProto(v1::GetCapabilitiesResponse* out) {
  const google::protobuf::EnumDescriptor* numbers = v1::Field_descriptor();
  for (int i = 0; i < numbers->value_count(); ++i) {
    const auto& options = numbers->value(i)->options();
    if (!options.HasExtension(v1::field)) continue;
    v1::FieldCapability* field = out->add_fields();
    field->set_field(static_cast<v1::Field>(numbers->value(i)->number()));
    *field->mutable_description() = options.GetExtension(v1::field);
  }
}

}  // namespace

SwitchIdentity NewSwitchIdentity() {
  std::random_device random;
  std::string boot_id;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&boot_id, absl::Hex(random(), absl::kZeroPad8));
  return {SLUICE_VERSION, boot_id, absl::Now()};
}

SwitchApi::SwitchApi(Dataplane& dataplane, FlowTable& flows, const ApiLimits& limits, SwitchIdentity identity)
    : dataplane_(dataplane), flows_(flows), limits_(limits), identity_(std::move(identity)) {}

absl::Status SwitchApi::GetSwitch(const v1::GetSwitchRequest&, v1::GetSwitchResponse* response) const {
  response->set_version(identity_.version);
  response->set_boot_id(identity_.boot_id);
  TimeToProto(identity_.start_time, response->mutable_start_time());
  const Dataplane::Environment& environment = dataplane_.environment();
  response->set_dpdk_version(environment.dpdk_version);
  response->set_huge_pages(environment.huge_pages);
  response->set_tsc_hz(environment.tsc_hz);
  for (const WorkerInfo& worker : dataplane_.Workers()) WorkerToProto(worker, response->add_workers());
  TotalsToProto(dataplane_.Totals(), response->mutable_totals());
  return absl::OkStatus();
}

absl::Status SwitchApi::GetCapabilities(const v1::GetCapabilitiesRequest&,
                                        v1::GetCapabilitiesResponse* response) const {
  FieldsToProto(response);
  const auto* actions = v1::Action::descriptor()->FindOneofByName("action");
  for (int i = 0; i < actions->field_count(); ++i) response->add_actions(actions->field(i)->name());
  response->set_max_table_id(kMaxTableId);
  response->set_max_flows(flows_.limits().max_flows);
  response->set_max_masks_per_table(flows_.limits().max_masks_per_table);
  response->set_max_actions_per_flow(limits_.actions_per_flow);
  response->set_max_batch_items(limits_.batch_items);
  response->set_max_ports(Dataplane::kMaxPorts);
  response->set_max_groups(dataplane_.groups().max_groups());
  response->set_max_buckets_per_group(limits_.buckets_per_group);
  response->set_max_meters(dataplane_.meters().max_meters());
  response->set_max_bands_per_meter(kMaxMeterBands);
  response->set_max_macs(dataplane_.Macs().options.entries);
  response->set_max_packet_in_clients(limits_.packet_in_clients);
  response->set_max_packet_ins_per_second(limits_.packet_ins_per_second);
  response->set_max_packet_in_queue(limits_.packet_in_queue);
  response->set_max_packet_outs_per_second(limits_.packet_outs_per_second);
  response->set_max_captures(limits_.captures);
  response->set_max_watchers(limits_.watchers);
  response->set_max_watch_events(flows_.limits().kept_events);
  response->mutable_max_timeout()->set_seconds(kMaxTimeoutSeconds);
  return absl::OkStatus();
}

Settings SwitchApi::CurrentSettings() const {
  return {.flow_cache_entries = dataplane_.flow_cache_entries(), .classifier = flows_.options()};
}

absl::Status SwitchApi::GetSettings(const v1::GetSettingsRequest&, v1::GetSettingsResponse* response) const {
  SettingsToProto(CurrentSettings(), response->mutable_settings());
  return absl::OkStatus();
}

// What does not change is not set: a cache that is set is empty.
absl::Status SwitchApi::UpdateSettings(const v1::UpdateSettingsRequest& request, v1::UpdateSettingsResponse* response) {
  const std::lock_guard lock(settings_mutex_);
  const Settings before = CurrentSettings();
  Settings after = before;
  ViolationList violations;
  SettingsFromProto(request, violations, after);
  if (!violations.empty()) return violations.ToStatus();
  if (after.classifier != before.classifier) flows_.SetOptions(after.classifier);
  // Answers that were remembered follow the choice among equals of their time.
  const bool other_answers = after.classifier.equal_priority != before.classifier.equal_priority;
  if (other_answers || after.flow_cache_entries != before.flow_cache_entries) {
    const absl::Status status = dataplane_.SetFlowCacheEntries(after.flow_cache_entries);
    if (!status.ok()) return status;
  }
  SettingsToProto(CurrentSettings(), response->mutable_settings());
  return absl::OkStatus();
}

absl::Status SwitchApi::ListTables(const v1::ListTablesRequest&, v1::ListTablesResponse* response) const {
  for (const TableInfo& table : flows_.Tables()) TableToProto(table, response->add_tables());
  return absl::OkStatus();
}

absl::Status SwitchApi::UpdateTable(const v1::UpdateTableRequest& request, v1::UpdateTableResponse* response) {
  ViolationList violations;
  MissPolicy policy = MissPolicy::kDrop;
  if (request.table_id() > kMaxTableId) {
    violations.Add(Path("table_id"), absl::StrCat("there is no table ", request.table_id(), ": 0 to ", kMaxTableId));
  }
  MissPolicyFromProto(request.miss_policy(), Path("miss_policy"), violations, policy);
  if (!violations.empty()) return violations.ToStatus();
  const auto id = static_cast<uint8_t>(request.table_id());
  flows_.SetMissPolicy(id, policy);
  TableToProto(flows_.Table(id), response->mutable_table());
  return absl::OkStatus();
}

absl::Status SwitchApi::ListMasks(const v1::ListMasksRequest& request, v1::ListMasksResponse* response) const {
  if (request.table_id() > kMaxTableId) {
    ViolationList violations;
    violations.Add(Path("table_id"), absl::StrCat("there is no table ", request.table_id(), ": 0 to ", kMaxTableId));
    return violations.ToStatus();
  }
  for (const MaskInfo& mask : flows_.Masks(static_cast<uint8_t>(request.table_id()))) {
    MaskInfoToProto(mask, response->add_masks());
  }
  return absl::OkStatus();
}

absl::Status SwitchApi::ResortMasks(const v1::ResortMasksRequest&, v1::ResortMasksResponse*) {
  flows_.Resort();
  return absl::OkStatus();
}

}  // namespace sluice
