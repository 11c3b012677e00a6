// What SwitchService and TableService do, without gRPC. Settings change one
// request at a time, each as a whole; all else only reads.
//
// Any thread.

#pragma once

#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "dataplane/dataplane.h"
#include "server/convert.h"
#include "sluice/v1/switch_service.pb.h"
#include "sluice/v1/table_service.pb.h"

namespace sluice {

// Tells one start of the switch from another.
struct SwitchIdentity {
  std::string version;
  std::string boot_id;  // random
  absl::Time start_time;
};

// Of this build, started now.
SwitchIdentity NewSwitchIdentity();

class SwitchApi {
 public:
  // The dataplane outlives the API.
  SwitchApi(Dataplane& dataplane, FlowTable& flows, const ApiLimits& limits, SwitchIdentity identity);

  absl::Status GetSwitch(const v1::GetSwitchRequest& request, v1::GetSwitchResponse* response) const;
  absl::Status GetCapabilities(const v1::GetCapabilitiesRequest& request, v1::GetCapabilitiesResponse* response) const;
  absl::Status GetSettings(const v1::GetSettingsRequest& request, v1::GetSettingsResponse* response) const;
  absl::Status UpdateSettings(const v1::UpdateSettingsRequest& request, v1::UpdateSettingsResponse* response);
  absl::Status ListTables(const v1::ListTablesRequest& request, v1::ListTablesResponse* response) const;
  absl::Status UpdateTable(const v1::UpdateTableRequest& request, v1::UpdateTableResponse* response);
  absl::Status ListMasks(const v1::ListMasksRequest& request, v1::ListMasksResponse* response) const;
  absl::Status ResortMasks(const v1::ResortMasksRequest& request, v1::ResortMasksResponse* response);

 private:
  Settings CurrentSettings() const;

  Dataplane& dataplane_;
  FlowTable& flows_;
  const ApiLimits limits_;
  const SwitchIdentity identity_;
  std::mutex settings_mutex_;  // held by who reads and changes them
};

}  // namespace sluice
