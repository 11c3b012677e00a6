#include "server/switch_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "sluice/v1/switch_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class SwitchService final : public v1::SwitchService::CallbackService {
 public:
  SwitchService(const SwitchApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* GetSwitch(CallbackServerContext* context, const v1::GetSwitchRequest* request,
                                v1::GetSwitchResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kGetSwitch, api_.GetSwitch(*request, response));
    return reactor;
  }

  ServerUnaryReactor* GetCapabilities(CallbackServerContext* context, const v1::GetCapabilitiesRequest* request,
                                      v1::GetCapabilitiesResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kGetCapabilities, api_.GetCapabilities(*request, response));
    return reactor;
  }

 private:
  const SwitchApi& api_;
  RequestCounters& requests_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSwitchService(const SwitchApi& api, RequestCounters& requests) {
  return std::make_unique<SwitchService>(api, requests);
}

}  // namespace sluice
