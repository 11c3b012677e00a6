// All watchers of flows: one thread that gives each its next message when the one
// before has been taken, and not sooner. A client that does not read costs a
// message's memory and holds up nobody.
//
// Open, WriteDone, Cancel: any thread, gRPC's too; none waits for a client. Close
// and the destructor: the thread that ends the switch. The sinks of streams that
// are open when it is destroyed must come to their end by themselves.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "dataplane/flow/flow_table.h"
#include "server/flow_watch.h"
#include "sluice/v1/flow_service.pb.h"

namespace sluice {

// The stream of one watcher. Called by the watches' thread.
class WatchSink {
 public:
  // WriteDone follows, from whatever thread; `message` stays until then.
  virtual void Write(const v1::WatchFlowsResponse& message) = 0;
  // The last call; no write is under way.
  virtual void Finish(const absl::Status& status) = 0;

 protected:
  ~WatchSink() = default;
};

class FlowWatches {
 public:
  // The table outlives it; boot_id tells this start of the switch from others.
  FlowWatches(FlowTable& flows, uint32_t limit, std::string boot_id);
  ~FlowWatches();

  // INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE (closed): the sink is not called.
  absl::Status Open(const v1::WatchFlowsRequest& request, WatchSink* sink);
  void WriteDone(WatchSink* sink, bool ok);
  // The client is gone. No effect on a stream that has finished.
  void Cancel(WatchSink* sink);
  // Ends all with UNAVAILABLE, each when its last message has been taken, and takes no more.
  void Close();

  uint64_t open() const;    // watchers there are
  uint64_t missed() const;  // events that watchers ever missed
  uint32_t limit() const { return limit_; }

 private:
  struct Entry {
    std::unique_ptr<FlowWatch> watch;
    uint64_t missed = 0;  // of the watch, as far as counted
    v1::WatchFlowsResponse message{};
    bool writing = false;
    bool cancelled = false;
  };

  void Run();
  void Wake();
  void Serve(WatchSink* sink, std::unique_lock<std::mutex>& lock);
  void End(WatchSink* sink, std::unique_lock<std::mutex>& lock);

  FlowTable& flows_;
  const uint32_t limit_;
  const std::string boot_id_;
  std::atomic<uint64_t> missed_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable woken_up_;
  std::map<WatchSink*, Entry> entries_;  // only the thread erases
  bool woken_ = false;
  bool closed_ = false;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace sluice
