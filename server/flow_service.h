// FlowService over gRPC's callback API. The logic stands in server/flow_api.h.

#pragma once

#include <memory>

#include "server/flow_api.h"
#include "server/request_counters.h"

namespace grpc {
class Service;
}

namespace sluice {

// Both outlive the service.
std::unique_ptr<grpc::Service> MakeFlowService(FlowApi& api, RequestCounters& requests);

}  // namespace sluice
