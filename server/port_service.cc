#include "server/port_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "server/task_thread.h"
#include "sluice/v1/port_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class PortService final : public v1::PortService::CallbackService {
 public:
  PortService(PortApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* CreatePort(CallbackServerContext* context, const v1::CreatePortRequest* request,
                                 v1::CreatePortResponse* response) override {
    return Run(context, Method::kCreatePort, &PortApi::CreatePort, request, response);
  }
  ServerUnaryReactor* GetPort(CallbackServerContext* context, const v1::GetPortRequest* request,
                              v1::GetPortResponse* response) override {
    return Run(context, Method::kGetPort, &PortApi::GetPort, request, response);
  }
  ServerUnaryReactor* UpdatePort(CallbackServerContext* context, const v1::UpdatePortRequest* request,
                                 v1::UpdatePortResponse* response) override {
    return Run(context, Method::kUpdatePort, &PortApi::UpdatePort, request, response);
  }
  ServerUnaryReactor* DeletePort(CallbackServerContext* context, const v1::DeletePortRequest* request,
                                 v1::DeletePortResponse* response) override {
    return Run(context, Method::kDeletePort, &PortApi::DeletePort, request, response);
  }
  ServerUnaryReactor* ListPorts(CallbackServerContext* context, const v1::ListPortsRequest* request,
                                v1::ListPortsResponse* response) override {
    return Run(context, Method::kListPorts, &PortApi::ListPorts, request, response);
  }

 private:
  template <typename Request, typename Response>
  ServerUnaryReactor* Run(CallbackServerContext* context, Method method,
                          absl::Status (PortApi::*handler)(const Request&, Response*), const Request* request,
                          Response* response) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    thread_.Post([this, reactor, method, handler, request, response] {
      Reply(reactor, requests_, method, (api_.*handler)(*request, response));
    });
    return reactor;
  }

  PortApi& api_;
  RequestCounters& requests_;
  TaskThread thread_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePortService(PortApi& api, RequestCounters& requests) {
  return std::make_unique<PortService>(api, requests);
}

}  // namespace sluice
