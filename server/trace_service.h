// TraceService over gRPC's callback API. The logic stands in server/trace_api.h.

#pragma once

#include <memory>

#include "server/request_counters.h"
#include "server/trace_api.h"

namespace grpc {
class Service;
}

namespace sluice {

// Both outlive the service.
std::unique_ptr<grpc::Service> MakeTraceService(TraceApi& api, RequestCounters& requests);

}  // namespace sluice
