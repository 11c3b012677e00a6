#include "server/common_service.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "server/status.h"

namespace sluice {

grpc::Status ToGrpc(const absl::Status& status) {
  WireStatus wire = ToWireStatus(status);
  return {static_cast<grpc::StatusCode>(wire.code), std::move(wire.message), std::move(wire.details)};
}

void Reply(grpc::ServerUnaryReactor* reactor, RequestCounters& requests, Method method, const absl::Status& status) {
  requests.Count(method, status.code());
  reactor->Finish(ToGrpc(status));
}

std::function<void(const absl::Status&)> ReplyLater(grpc::ServerUnaryReactor* reactor, RequestCounters& requests,
                                                    Method method) {
  return [reactor, &requests, method](const absl::Status& status) { Reply(reactor, requests, method, status); };
}

}  // namespace sluice
