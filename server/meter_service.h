// MeterService over gRPC's callback API. The logic stands in server/meter_api.h.
// All calls run on one thread of the service's own, since removing a meter waits
// for the workers; so they take effect in the order in which they came.

#pragma once

#include <memory>

#include "server/meter_api.h"
#include "server/request_counters.h"

namespace grpc {
class Service;
}

namespace sluice {

// Both outlive the service.
std::unique_ptr<grpc::Service> MakeMeterService(MeterApi& api, RequestCounters& requests);

}  // namespace sluice
