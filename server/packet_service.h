// PacketService over gRPC's callback API. The logic stands in server/packet_api.h.

#pragma once

#include <memory>

#include "server/packet_api.h"
#include "server/request_counters.h"

namespace grpc {
class Service;
}

namespace sluice {

// Both outlive the service.
std::unique_ptr<grpc::Service> MakePacketService(PacketApi& api, RequestCounters& requests);

}  // namespace sluice
