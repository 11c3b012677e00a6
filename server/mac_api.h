// What MacService does, without gRPC: each call validates, calls the dataplane,
// converts its answer. Any thread.

#pragma once

#include "absl/status/status.h"
#include "dataplane/dataplane.h"
#include "sluice/v1/mac_service.pb.h"

namespace sluice {

class MacApi {
 public:
  // The dataplane outlives the API.
  explicit MacApi(Dataplane& dataplane) : dataplane_(dataplane) {}

  absl::Status ListMacs(const v1::ListMacsRequest& request, v1::ListMacsResponse* response) const;
  absl::Status FlushMacs(const v1::FlushMacsRequest& request, v1::FlushMacsResponse* response);

 private:
  Dataplane& dataplane_;
};

}  // namespace sluice
