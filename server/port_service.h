// PortService over gRPC's callback API. The logic stands in server/port_api.h.
// All calls run on one thread of the service's own, since devices take their
// time; so they take effect in the order in which they came.

#pragma once

#include <memory>

#include "server/port_api.h"
#include "server/request_counters.h"

namespace grpc {
class Service;
}

namespace sluice {

// Both outlive the service.
std::unique_ptr<grpc::Service> MakePortService(PortApi& api, RequestCounters& requests);

}  // namespace sluice
