// A call that streams what waits for its caller in a queue, for the services.
//
// One write at a time; between two of them the queue fills. gRPC is never called
// with the mutex held: it may call back at once.

#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "server/common_service.h"
#include "server/request_counters.h"

namespace sluice {

// Client: `bool Take(Response&)` gives a message, false: nothing waits; `std::optional<absl::Status> ended()` says
// how the call ends once nothing does. Both: any thread.
template <typename Client, typename Response>
class QueueStream final : public grpc::ServerWriteReactor<Response>,
                          public std::enable_shared_from_this<QueueStream<Client, Response>> {
 public:
  using Leave = std::function<void(const std::shared_ptr<Client>&)>;
  // Calls ready() from then on when there is something to take, or the client has ended.
  using Listen = std::function<absl::StatusOr<std::shared_ptr<Client>>(std::function<void()> ready)>;

  // gRPC holds it until OnDone.
  static std::shared_ptr<QueueStream> New(Method method, RequestCounters& requests, Leave leave) {
    std::shared_ptr<QueueStream> stream(new QueueStream(method, requests, std::move(leave)));
    stream->self_ = stream;
    return stream;
  }

  // Once. May wait if `listen` does; then not on gRPC's threads. The answer's headers go out when it has returned.
  void Start(const Listen& listen) {
    auto client = listen([weak = this->weak_from_this()] {
      if (const auto stream = weak.lock()) stream->GoOn();
    });
    if (!client.ok()) return End(client.status());
    {
      const std::lock_guard lock(mutex_);
      client_ = *std::move(client);
    }
    this->StartSendInitialMetadata();
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
    if (client_ != nullptr) leave_(client_);
    self_.reset();
  }

 private:
  QueueStream(Method method, RequestCounters& requests, Leave leave)
      : method_(method), requests_(requests), leave_(std::move(leave)) {}

  // Writes what waits, or ends the call, if no write is under way.
  void GoOn() {
    std::optional<absl::Status> end;
    {
      const std::lock_guard lock(mutex_);
      if (client_ == nullptr || writing_ || ended_) return;
      if (cancelled_) {
        end = absl::CancelledError("cancelled");
      } else if (client_->Take(message_)) {
        writing_ = true;
      } else {
        end = client_->ended();
      }
      ended_ = end.has_value();
      if (!writing_ && !ended_) return;
    }
    end.has_value() ? End(*end) : this->StartWrite(&message_);
  }

  void End(const absl::Status& status) {
    requests_.Count(method_, status.code());
    this->Finish(ToGrpc(status));
  }

  const Method method_;
  RequestCounters& requests_;
  const Leave leave_;
  std::shared_ptr<QueueStream> self_;
  Response message_;  // of the write that is under way

  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Client> client_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
};

}  // namespace sluice
