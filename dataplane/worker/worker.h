// The packet loop.
//
// A round: for each of its receive queues take a burst of at most kBatch frames,
// parse them, look them all up at one version of the flow table, carry out each
// packet's actions in the order of arrival, flush what was staged for the ports,
// count; then empty the hand-over rings it owns and report quiescent.
//
// Why it is fast, and what holds it so:
// - No lock, no allocation but of packet buffers, no log, no system call of its
//   own (tests/unit/dataplane/packet_path_test.cc), and no cache line that two
//   workers write.
// - One virtual call a burst and direction, none a packet.
// - What is per flow is done once a burst (flow_hits.h), what is per burst once:
//   version, time, snapshot, totals.
// - Nothing waits: a full device drops (transmit.h), a writer of flows or ports
//   never stops the loop (snapshot.h, reclaimer.h).
//
// Idle, it backs off (idle.h, sleeper.h) and is offline for grace periods while
// it sleeps.
//
// Start and Stop: one control thread. counters(): any thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "dataplane/classifier/classifier.h"
#include "dataplane/dataplane.h"
#include "dataplane/worker/burst.h"
#include "dataplane/worker/capture_tap.h"
#include "dataplane/worker/clock.h"
#include "dataplane/worker/counters.h"
#include "dataplane/worker/execute.h"
#include "dataplane/worker/flow_hits.h"
#include "dataplane/worker/idle.h"
#include "dataplane/worker/injection.h"
#include "dataplane/worker/pipeline.h"
#include "dataplane/worker/reclaimer.h"
#include "dataplane/worker/sleeper.h"
#include "dataplane/worker/snapshot.h"
#include "dataplane/worker/table_lookup.h"
#include "dataplane/worker/transmit.h"

struct rte_mempool;

namespace sluice {

class FlowCache;

class Worker {
 public:
  struct Options {
    unsigned id = 0;
    unsigned cpu = 0;
    IdleMode idle = IdleMode::kAdaptive;
    unsigned rx_burst = kBatch;
  };

  // All outlive the worker.
  Worker(const Options& options, rte_mempool* pool, Classifier& classifier, Reclaimer& reclaimer,
         const std::atomic<const Snapshot*>& snapshot, const SharedTables& tables);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Start();
  // Returns when the thread has ended.
  void Stop();
  // Ends the worker's sleep, so that it sees a new snapshot. Any thread.
  void Wake() { sleeper_.Wake(); }

  // The flow cache from the next burst on; null: none. Returns the one before,
  // which the worker may use until a grace period has passed. A control thread.
  std::unique_ptr<FlowCache> SetCache(std::unique_ptr<FlowCache> cache);

  // A packet that no port received: taken in the next round. Any thread.
  void Inject(Injection& injection) {
    injections_.Put(injection);
    Wake();
  }

  // What it has queued for controllers.
  PuntRing& punts() { return executor_.punts(); }

  // One round in the calling thread, of a worker that was not started. Returns
  // how many frames it moved.
  unsigned RunOnce();

  const Options& options() const { return options_; }
  const WorkerCounters& counters() const { return counters_; }

 private:
  void Main();
  void Loop();
  unsigned Round();
  unsigned PollQueue(const Snapshot& snapshot, const Snapshot::RxQueue& queue);
  void AskForFlows() const;
  void Forward(const Snapshot& snapshot, const TableView& view, uint8_t ingress);
  void Miss(const Snapshot& snapshot, const TableView& view, uint8_t ingress, unsigned i, unsigned end);
  void CaptureMatches();
  void Count(PortCounters& port, unsigned received);
  unsigned RunInjections(const Snapshot& snapshot);
  void RunInjection(const Snapshot& snapshot, Injection& injection);
  void Sleep(uint64_t nanoseconds);

  const Options options_;
  Classifier& classifier_;
  Reclaimer& reclaimer_;
  const std::atomic<const Snapshot*>& snapshot_;
  std::atomic<bool> stop_{false};
  std::thread thread_;

  WorkerClock clock_;
  IdleBackoff idle_;
  Sleeper sleeper_;
  Burst burst_;
  CaptureTap tap_;
  FlowCounting hits_;
  alignas(64) WorkerCounters counters_;
  Transmitter transmitter_;
  Executor executor_;
  TableLookup lookup_;
  Pipeline pipeline_;
  InjectionList injections_;
};

}  // namespace sluice
