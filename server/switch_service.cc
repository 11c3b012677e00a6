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
  SwitchService(SwitchApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

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

  ServerUnaryReactor* GetSettings(CallbackServerContext* context, const v1::GetSettingsRequest* request,
                                  v1::GetSettingsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kGetSettings, api_.GetSettings(*request, response));
    return reactor;
  }

  ServerUnaryReactor* UpdateSettings(CallbackServerContext* context, const v1::UpdateSettingsRequest* request,
                                     v1::UpdateSettingsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kUpdateSettings, api_.UpdateSettings(*request, response));
    return reactor;
  }

 private:
  SwitchApi& api_;
  RequestCounters& requests_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSwitchService(SwitchApi& api, RequestCounters& requests) {
  return std::make_unique<SwitchService>(api, requests);
}

}  // namespace sluice
