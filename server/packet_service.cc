#include "server/packet_service.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/time/clock.h"
#include "server/common_service.h"
#include "server/packet_send_service.h"
#include "server/stream_service.h"
#include "server/task_thread.h"
#include "sluice/v1/packet_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

using PacketStream = QueueStream<PacketClient, v1::WatchPacketsResponse>;

class PacketService final : public v1::PacketService::CallbackService {
 public:
  PacketService(PacketApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  grpc::ServerWriteReactor<v1::WatchPacketsResponse>* WatchPackets(CallbackServerContext*,
                                                                   const v1::WatchPacketsRequest* request) override {
    const auto stream = PacketStream::New(Method::kWatchPackets, requests_,
                                          [this](const std::shared_ptr<PacketClient>& client) { api_.Leave(client); });
    stream->Start([&](std::function<void()> ready) { return api_.Listen(*request, std::move(ready)); });
    return stream.get();
  }

  ServerUnaryReactor* SendPacket(CallbackServerContext* context, const v1::SendPacketRequest* request,
                                 v1::SendPacketResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    const absl::Status admitted = api_.Admit(absl::Now());
    if (!admitted.ok()) {
      Reply(reactor, requests_, Method::kSendPacket, admitted);
      return reactor;
    }
    thread_.Post([this, request, response, reactor] {
      Reply(reactor, requests_, Method::kSendPacket, api_.SendPacket(*request, response));
    });
    return reactor;
  }

  grpc::ServerBidiReactor<v1::SendPacketsRequest, v1::SendPacketsResponse>* SendPackets(
      CallbackServerContext*) override {
    const auto sender = std::make_shared<PacketSender>(api_, requests_, thread_);
    sender->Start();
    return sender.get();
  }

 private:
  PacketApi& api_;
  RequestCounters& requests_;
  TaskThread thread_;  // waits for workers
};

}  // namespace

std::unique_ptr<grpc::Service> MakePacketService(PacketApi& api, RequestCounters& requests) {
  return std::make_unique<PacketService>(api, requests);
}

}  // namespace sluice
