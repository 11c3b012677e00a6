// What PortService does, without gRPC: each call validates, calls the
// dataplane, converts its answer.
//
// Any thread. Adding, changing and removing a port waits for its device or for
// the workers: the caller takes a thread that may wait.

#pragma once

#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"
#include "server/violations.h"
#include "sluice/v1/port_service.pb.h"

namespace sluice {

// The number of the port that the key at `path` names. INVALID_ARGUMENT: none; NOT_FOUND: no port has that name.
// Whether one has the number shows when it is used.
absl::StatusOr<uint32_t> NumberOf(const Dataplane& dataplane, const v1::PortKey& key, const Path& path);

class PortApi {
 public:
  // The dataplane outlives the API.
  explicit PortApi(Dataplane& dataplane) : dataplane_(dataplane) {}

  absl::Status CreatePort(const v1::CreatePortRequest& request, v1::CreatePortResponse* response);
  absl::Status GetPort(const v1::GetPortRequest& request, v1::GetPortResponse* response);
  absl::Status UpdatePort(const v1::UpdatePortRequest& request, v1::UpdatePortResponse* response);
  absl::Status DeletePort(const v1::DeletePortRequest& request, v1::DeletePortResponse* response);
  absl::Status ListPorts(const v1::ListPortsRequest& request, v1::ListPortsResponse* response);

 private:
  Dataplane& dataplane_;
};

}  // namespace sluice
