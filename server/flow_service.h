// FlowService over gRPC's callback API. The logic stands in server/flow_api.h
// and, for streams, in server/flow_watches.h.

#pragma once

#include <memory>

#include "server/flow_api.h"
#include "server/flow_watches.h"
#include "server/request_counters.h"

namespace grpc {
class Service;
}

namespace sluice {

// All outlive the service.
std::unique_ptr<grpc::Service> MakeFlowService(FlowApi& api, FlowWatches& watches, RequestCounters& requests);

}  // namespace sluice
