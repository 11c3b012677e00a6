#include "server/packet_service.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/time/clock.h"
#include "server/common_service.h"
#include "server/packet_sender.h"
#include "server/task_thread.h"
#include "sluice/v1/packet_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// One caller of WatchPackets. One write at a time; between two of them the client's
// queue fills. gRPC is never called with the mutex held: it may call back at once.
class PacketStream final : public grpc::ServerWriteReactor<v1::WatchPacketsResponse>,
                           public std::enable_shared_from_this<PacketStream> {
 public:
  PacketStream(PacketApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  // gRPC holds it until OnDone.
  void Start(const v1::WatchPacketsRequest& request) {
    self_ = shared_from_this();
    auto client = api_.Listen(request, [weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->GoOn();
    });
    if (!client.ok()) return End(client.status());
    {
      const std::lock_guard lock(mutex_);
      client_ = *std::move(client);
    }
    StartSendInitialMetadata();
    GoOn();
  }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      cancelled_ = cancelled_ || !ok;
    }
    GoOn();
  }

  void OnCancel() override {
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    GoOn();
  }

  void OnDone() override {
    if (client_ != nullptr) api_.Leave(client_);
    self_.reset();
  }

 private:
  // Writes what waits, or ends the call, if no write is under way.
  void GoOn() {
    bool cancelled = false;
    {
      const std::lock_guard lock(mutex_);
      if (client_ == nullptr || writing_ || ended_) return;
      cancelled = cancelled_;
      writing_ = !cancelled && client_->Take(message_);
      ended_ = !writing_ && (cancelled || client_->closed());
      if (!writing_ && !ended_) return;
    }
    if (writing_) return StartWrite(&message_);
    End(cancelled ? absl::CancelledError("cancelled") : absl::UnavailableError("the switch is ending"));
  }

  void End(const absl::Status& status) {
    requests_.Count(Method::kWatchPackets, status.code());
    Finish(ToGrpc(status));
  }

  PacketApi& api_;
  RequestCounters& requests_;
  std::shared_ptr<PacketStream> self_;
  v1::WatchPacketsResponse message_;  // of the write that is under way

  std::mutex mutex_;  // guards what follows
  std::shared_ptr<PacketClient> client_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
};

class PacketService final : public v1::PacketService::CallbackService {
 public:
  PacketService(PacketApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  grpc::ServerWriteReactor<v1::WatchPacketsResponse>* WatchPackets(CallbackServerContext*,
                                                                   const v1::WatchPacketsRequest* request) override {
    const auto stream = std::make_shared<PacketStream>(api_, requests_);
    stream->Start(*request);
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
