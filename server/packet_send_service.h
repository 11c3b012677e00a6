// One caller of SendPackets: a packet is read, carried out by a worker and answered,
// and only then is the next one read. So a caller is never ahead of the switch by
// more than what gRPC's flow control lets lie between them, and one that does not
// read its answers is not read from. Where SendPacket refuses for the rate, this waits.
//
// gRPC calls it from any thread.

#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <optional>

#include "server/packet_api.h"
#include "server/request_counters.h"
#include "server/task_thread.h"
#include "sluice/v1/packet_service.pb.h"

namespace sluice {

class PacketSender final : public grpc::ServerBidiReactor<v1::SendPacketsRequest, v1::SendPacketsResponse>,
                           public std::enable_shared_from_this<PacketSender> {
 public:
  // All outlive it; `thread` may wait for workers.
  PacketSender(PacketApi& api, RequestCounters& requests, TaskThread& thread)
      : api_(api), requests_(requests), thread_(thread) {}

  // It lives from here on until the call is over.
  void Start();
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What the call waits for. Only a read may be pending when the call is finished.
  enum class Stage { kReads, kWorks, kOver };

  void Read();
  void Work();
  void Answer();
  // True: the stage begins. False: the call is over, or is now.
  bool Enter(Stage stage);
  void End(const absl::Status& status);
  void FinishWith(const absl::Status& status);

  PacketApi& api_;
  RequestCounters& requests_;
  TaskThread& thread_;
  std::shared_ptr<PacketSender> self_;
  grpc::Alarm alarm_;
  v1::SendPacketsRequest request_;
  v1::SendPacketsResponse response_;

  std::mutex mutex_;  // guards what follows; gRPC is not called with it
  Stage stage_ = Stage::kWorks;
  std::optional<absl::Status> end_;  // as soon as the stage allows
};

}  // namespace sluice
