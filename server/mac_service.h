// MacService over gRPC's callback API. The logic stands in server/mac_api.h.

#pragma once

#include <memory>

#include "server/mac_api.h"
#include "server/request_counters.h"

namespace grpc {
class Service;
}

namespace sluice {

// Both outlive the service.
std::unique_ptr<grpc::Service> MakeMacService(MacApi& api, RequestCounters& requests);

}  // namespace sluice
