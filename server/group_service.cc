#include "server/group_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "server/task_thread.h"
#include "sluice/v1/group_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class GroupService final : public v1::GroupService::CallbackService {
 public:
  GroupService(GroupApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* CreateGroup(CallbackServerContext* context, const v1::CreateGroupRequest* request,
                                  v1::CreateGroupResponse* response) override {
    return Run(context, Method::kCreateGroup, &GroupApi::CreateGroup, request, response);
  }
  ServerUnaryReactor* GetGroup(CallbackServerContext* context, const v1::GetGroupRequest* request,
                               v1::GetGroupResponse* response) override {
    return Run(context, Method::kGetGroup, &GroupApi::GetGroup, request, response);
  }
  ServerUnaryReactor* UpdateGroup(CallbackServerContext* context, const v1::UpdateGroupRequest* request,
                                  v1::UpdateGroupResponse* response) override {
    return Run(context, Method::kUpdateGroup, &GroupApi::UpdateGroup, request, response);
  }
  ServerUnaryReactor* DeleteGroup(CallbackServerContext* context, const v1::DeleteGroupRequest* request,
                                  v1::DeleteGroupResponse* response) override {
    return Run(context, Method::kDeleteGroup, &GroupApi::DeleteGroup, request, response);
  }
  ServerUnaryReactor* ListGroups(CallbackServerContext* context, const v1::ListGroupsRequest* request,
                                 v1::ListGroupsResponse* response) override {
    return Run(context, Method::kListGroups, &GroupApi::ListGroups, request, response);
  }

 private:
  template <typename Request, typename Response>
  ServerUnaryReactor* Run(CallbackServerContext* context, Method method,
                          absl::Status (GroupApi::*handler)(const Request&, Response*), const Request* request,
                          Response* response) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    thread_.Post([this, reactor, method, handler, request, response] {
      Reply(reactor, requests_, method, (api_.*handler)(*request, response));
    });
    return reactor;
  }

  GroupApi& api_;
  RequestCounters& requests_;
  TaskThread thread_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeGroupService(GroupApi& api, RequestCounters& requests) {
  return std::make_unique<GroupService>(api, requests);
}

}  // namespace sluice
