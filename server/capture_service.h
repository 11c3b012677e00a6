// CaptureService over gRPC's callback API. The logic stands in server/capture_api.h.

#pragma once

#include <memory>

#include "server/capture_api.h"
#include "server/request_counters.h"

namespace grpc {
class Service;
}

namespace sluice {

// Both outlive the service.
std::unique_ptr<grpc::Service> MakeCaptureService(CaptureApi& api, RequestCounters& requests);

}  // namespace sluice
