#include "server/flow_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "sluice/v1/flow_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class FlowService final : public v1::FlowService::CallbackService {
 public:
  FlowService(FlowApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* CreateFlow(CallbackServerContext* context, const v1::CreateFlowRequest* request,
                                 v1::CreateFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.CreateFlow(*request, response, ReplyLater(reactor, requests_, Method::kCreateFlow));
    return reactor;
  }

  ServerUnaryReactor* GetFlow(CallbackServerContext* context, const v1::GetFlowRequest* request,
                              v1::GetFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kGetFlow, api_.GetFlow(*request, response));
    return reactor;
  }

  ServerUnaryReactor* UpdateFlow(CallbackServerContext* context, const v1::UpdateFlowRequest* request,
                                 v1::UpdateFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.UpdateFlow(*request, response, ReplyLater(reactor, requests_, Method::kUpdateFlow));
    return reactor;
  }

  ServerUnaryReactor* DeleteFlow(CallbackServerContext* context, const v1::DeleteFlowRequest* request,
                                 v1::DeleteFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.DeleteFlow(*request, response, ReplyLater(reactor, requests_, Method::kDeleteFlow));
    return reactor;
  }

  ServerUnaryReactor* DeleteMatchingFlows(CallbackServerContext* context, const v1::DeleteMatchingFlowsRequest* request,
                                          v1::DeleteMatchingFlowsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.DeleteMatchingFlows(*request, response, ReplyLater(reactor, requests_, Method::kDeleteMatchingFlows));
    return reactor;
  }

  ServerUnaryReactor* ListFlows(CallbackServerContext* context, const v1::ListFlowsRequest* request,
                                v1::ListFlowsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kListFlows, api_.ListFlows(*request, response));
    return reactor;
  }

  ServerUnaryReactor* BatchWrite(CallbackServerContext* context, const v1::BatchWriteRequest* request,
                                 v1::BatchWriteResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.BatchWrite(*request, response, ReplyLater(reactor, requests_, Method::kBatchWrite));
    return reactor;
  }

 private:
  FlowApi& api_;
  RequestCounters& requests_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFlowService(FlowApi& api, RequestCounters& requests) {
  return std::make_unique<FlowService>(api, requests);
}

}  // namespace sluice
