// What TraceService does, without gRPC. Only reads.
//
// Any thread.

#pragma once

#include "absl/status/status.h"
#include "dataplane/dataplane.h"
#include "sluice/v1/trace_service.pb.h"

namespace sluice {

class TraceApi {
 public:
  // The dataplane outlives the API.
  explicit TraceApi(const Dataplane& dataplane) : dataplane_(dataplane) {}

  // NOT_FOUND without the port, INVALID_ARGUMENT for a frame that is empty or too long.
  absl::Status TracePacket(const v1::TracePacketRequest& request, v1::TracePacketResponse* response) const;

 private:
  const Dataplane& dataplane_;
};

}  // namespace sluice
