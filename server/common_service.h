// What the services share: how a unary call is answered. Any thread.

#pragma once

#include <functional>

#include "absl/status/status.h"
#include "server/request_counters.h"

namespace grpc {
class ServerUnaryReactor;
}

namespace sluice {

// Ends the call with the status and counts it.
void Reply(grpc::ServerUnaryReactor* reactor, RequestCounters& requests, Method method, const absl::Status& status);

// The same, for calls that end later.
std::function<void(const absl::Status&)> ReplyLater(grpc::ServerUnaryReactor* reactor, RequestCounters& requests,
                                                    Method method);

}  // namespace sluice
