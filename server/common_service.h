// What the services share: how a call is answered. Any thread.

#pragma once

#include <functional>

#include "absl/status/status.h"
#include "server/request_counters.h"

namespace grpc {
class ServerUnaryReactor;
class Status;
}  // namespace grpc

namespace sluice {

// With its details.
grpc::Status ToGrpc(const absl::Status& status);

// Ends the call with the status and counts it.
void Reply(grpc::ServerUnaryReactor* reactor, RequestCounters& requests, Method method, const absl::Status& status);

// The same, for calls that end later.
std::function<void(const absl::Status&)> ReplyLater(grpc::ServerUnaryReactor* reactor, RequestCounters& requests,
                                                    Method method);

}  // namespace sluice
