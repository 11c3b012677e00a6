// What PacketService does, without gRPC.
//
// Packet-in: a thread of its own takes what workers have queued, once a
// millisecond and only while somebody listens, and offers it to those who do
// (packet_client.h). Nothing waits for them.
//
// Packet-out: SendPacket waits for a worker; the caller takes a thread that may
// wait. Admit comes first and does not wait: it refuses what is too much, or TryAdmit
// says to come again (packet_send_service.h).
//
// Any thread.

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"
#include "server/convert.h"
#include "server/packet_client.h"
#include "server/rate_limit.h"
#include "sluice/v1/packet_service.pb.h"

namespace sluice {

class PacketApi {
 public:
  // Both outlive the API.
  PacketApi(Dataplane& dataplane, FlowTable& flows, const ApiLimits& limits);
  ~PacketApi();

  // From now on, until Leave. INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
  absl::StatusOr<std::shared_ptr<PacketClient>> Listen(v1::WatchPacketsRequest request, std::function<void()> ready);
  void Leave(const std::shared_ptr<PacketClient>& client);
  // Nobody listens any more: closes all clients and takes no new ones.
  void Close();

  // OK: SendPacket must follow, once. RESOURCE_EXHAUSTED.
  absl::Status Admit(absl::Time now);
  // The same for who waits instead: false if it must.
  bool TryAdmit(absl::Time now);
  absl::Status SendPacket(const v1::SendPacketRequest& request, v1::SendPacketResponse* response);

  // Who sends a stream of packets: `end` is called by Close, at most once, perhaps after
  // CloseSender. UNAVAILABLE after Close.
  absl::Status OpenSender(const void* sender, std::function<void()> end);
  void CloseSender(const void* sender);

  struct Counters {
    uint64_t clients = 0;        // that listen now
    uint64_t delivered = 0;      // packets queued for clients, for each once
    uint64_t dropped_rate = 0;   // not queued since a client has had its rate
    uint64_t dropped_queue = 0;  // not queued since a client's queue is full
    uint64_t refused = 0;        // packet-outs that were too many
  };
  Counters counters() const;

 private:
  bool TryAdmitLocked(absl::Time now);
  void Run();
  void Deliver(const PuntedPacket& packet, std::span<const uint8_t> bytes, absl::Time now);
  uint64_t CookieOf(const PuntedPacket& packet) const;
  void Describe(const PuntedPacket& packet, std::span<const uint8_t> bytes, uint64_t cookie, v1::Packet& out) const;
  uint64_t Lost() const;
  void CheckLengths(const v1::SendPacketRequest& request, const ActionList& actions, ViolationList& violations) const;

  Dataplane& dataplane_;
  FlowTable& flows_;
  const ApiLimits limits_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::shared_ptr<PacketClient>> clients_;
  std::map<const void*, std::function<void()>> senders_;
  bool closed_ = false;
  RateLimit send_rate_;
  uint32_t sending_ = 0;
  uint64_t refused_ = 0;

  std::vector<std::shared_ptr<PacketClient>> listeners_;  // the thread's copy of clients_
  std::atomic<uint64_t> delivered_{0};
  std::atomic<uint64_t> dropped_rate_{0};
  std::atomic<uint64_t> dropped_queue_{0};
  std::thread thread_;  // last: it uses the others
};

}  // namespace sluice
