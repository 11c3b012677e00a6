#include "server/trace_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "sluice/v1/trace_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class TraceService final : public v1::TraceService::CallbackService {
 public:
  TraceService(TraceApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* TracePacket(CallbackServerContext* context, const v1::TracePacketRequest* request,
                                  v1::TracePacketResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kTracePacket, api_.TracePacket(*request, response));
    return reactor;
  }

 private:
  TraceApi& api_;
  RequestCounters& requests_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTraceService(TraceApi& api, RequestCounters& requests) {
  return std::make_unique<TraceService>(api, requests);
}

}  // namespace sluice
