// What GroupService does, without gRPC: each call validates, calls the dataplane,
// converts its answer.
//
// Any thread. Deleting waits for the workers: the caller takes a thread that may
// wait.

#pragma once

#include "absl/status/status.h"
#include "dataplane/dataplane.h"
#include "server/convert.h"
#include "sluice/v1/group_service.pb.h"

namespace sluice {

class GroupApi {
 public:
  // The dataplane outlives the API.
  GroupApi(Dataplane& dataplane, const ApiLimits& limits) : groups_(dataplane.groups()), limits_(limits) {}

  absl::Status CreateGroup(const v1::CreateGroupRequest& request, v1::CreateGroupResponse* response);
  absl::Status GetGroup(const v1::GetGroupRequest& request, v1::GetGroupResponse* response);
  absl::Status UpdateGroup(const v1::UpdateGroupRequest& request, v1::UpdateGroupResponse* response);
  absl::Status DeleteGroup(const v1::DeleteGroupRequest& request, v1::DeleteGroupResponse* response);
  absl::Status ListGroups(const v1::ListGroupsRequest& request, v1::ListGroupsResponse* response);

 private:
  GroupTable& groups_;
  const ApiLimits limits_;
};

}  // namespace sluice
