#include "server/mac_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "sluice/v1/mac_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class MacService final : public v1::MacService::CallbackService {
 public:
  MacService(MacApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* ListMacs(CallbackServerContext* context, const v1::ListMacsRequest* request,
                               v1::ListMacsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kListMacs, api_.ListMacs(*request, response));
    return reactor;
  }

  ServerUnaryReactor* FlushMacs(CallbackServerContext* context, const v1::FlushMacsRequest* request,
                                v1::FlushMacsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kFlushMacs, api_.FlushMacs(*request, response));
    return reactor;
  }

 private:
  MacApi& api_;
  RequestCounters& requests_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMacService(MacApi& api, RequestCounters& requests) {
  return std::make_unique<MacService>(api, requests);
}

}  // namespace sluice
