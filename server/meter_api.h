// What MeterService does, without gRPC: each call validates, calls the dataplane,
// converts its answer.
//
// Any thread. Deleting waits for the workers: the caller takes a thread that may
// wait.

#pragma once

#include "absl/status/status.h"
#include "dataplane/dataplane.h"
#include "sluice/v1/meter_service.pb.h"

namespace sluice {

class MeterApi {
 public:
  // The dataplane outlives the API.
  explicit MeterApi(Dataplane& dataplane) : meters_(dataplane.meters()) {}

  absl::Status CreateMeter(const v1::CreateMeterRequest& request, v1::CreateMeterResponse* response);
  absl::Status GetMeter(const v1::GetMeterRequest& request, v1::GetMeterResponse* response);
  absl::Status UpdateMeter(const v1::UpdateMeterRequest& request, v1::UpdateMeterResponse* response);
  absl::Status DeleteMeter(const v1::DeleteMeterRequest& request, v1::DeleteMeterResponse* response);
  absl::Status ListMeters(const v1::ListMetersRequest& request, v1::ListMetersResponse* response);

 private:
  MeterTable& meters_;
};

}  // namespace sluice
