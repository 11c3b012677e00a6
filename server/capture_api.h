// What CaptureService does, without gRPC.
//
// A thread of its own takes what workers have captured, once a millisecond and
// only while somebody captures, and puts it into the callers' queues
// (capture_client.h). Nothing waits for them. It sees, too, when the port or flow
// of a capture is gone, and ends the capture once it has given all of it.
//
// Any thread. Start waits for the workers: the caller takes a thread that may
// wait.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"
#include "server/capture_client.h"
#include "server/convert.h"
#include "sluice/v1/capture_service.pb.h"

namespace sluice {

class CaptureApi {
 public:
  // Both outlive the API.
  CaptureApi(Dataplane& dataplane, const FlowTable& flows, const ApiLimits& limits);
  ~CaptureApi();

  // From when it returns until Leave. INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, UNAVAILABLE.
  absl::StatusOr<std::shared_ptr<CaptureClient>> Start(const v1::CaptureRequest& request, std::function<void()> ready);
  void Leave(const std::shared_ptr<CaptureClient>& client);
  // Nobody captures any more: ends all captures and takes no new ones.
  void Close();

  struct Counters {
    uint64_t captures = 0;       // that run now
    uint64_t limit = 0;          // of them
    uint64_t missed_worker = 0;  // packets, since a worker's ring was full; for each capture
    uint64_t missed_queue = 0;   // packets, since a caller's queue was full
  };
  Counters counters() const;

 private:
  using Clients = std::vector<std::shared_ptr<CaptureClient>>;

  absl::StatusOr<CaptureSpec> SpecOf(const v1::CaptureRequest& request) const;
  absl::Status Admit();
  void Run();
  void Round(bool check_flows);
  void EndIfFlowIsGone(const CaptureClient& client);
  CaptureClient* Find(uint64_t capture_id);
  void Deliver(const CapturedPacket& packet, std::span<const uint8_t> bytes);
  const std::string& NameOf(uint32_t port);

  Dataplane& dataplane_;
  const FlowTable& flows_;
  const uint32_t limit_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Clients clients_;             // that the thread serves
  uint64_t captures_ = 0;       // with those that are about to start, and to be stopped
  uint64_t missed_worker_ = 0;  // of those that have left
  uint64_t missed_queue_ = 0;   // likewise
  bool closed_ = false;

  // The thread's, of this round.
  Clients serving_;                        // a copy of clients_
  std::map<uint32_t, std::string> names_;  // of ports
  std::thread thread_;                     // last: it uses the others
};

}  // namespace sluice
