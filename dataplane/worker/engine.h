// The workers, and the ports that they serve.
//
// The control side of the packet loop: attaches and detaches ports, spreads
// their queues over the workers, publishes snapshots, sums counters. Knows no
// names and no devices.
//
// Any control thread; a mutex stands among them. Only Detach waits for workers.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"
#include "dataplane/flow/mac_table.h"
#include "dataplane/port/port.h"
#include "dataplane/worker/reclaimer.h"
#include "dataplane/worker/snapshot.h"
#include "dataplane/worker/worker.h"

struct rte_mempool;

namespace sluice {

class Engine {
 public:
  struct Options {
    std::vector<unsigned> worker_cpus;
    IdleMode idle = IdleMode::kAdaptive;
    unsigned rx_burst = kBatch;
    uint32_t flow_cache_entries = 0;  // of each worker; 0: none
    uint32_t max_groups = kDefaultGroups;
    uint32_t max_meters = kDefaultMeters;
    MacTableOptions macs;
  };
  struct PortState {
    bool enabled = true;
    bool receive = true;
    uint32_t mtu = 1500;
  };

  // All outlive the engine.
  Engine(const Options& options, rte_mempool* pool, FlowTable& flows, Reclaimer& reclaimer);
  // Stops the workers; every port must be detached.
  ~Engine();

  void Start();
  // For tests, instead of Start: worker(i).RunOnce().
  Worker& worker(unsigned id) { return *workers_[id]; }

  // The port stays the caller's until it is detached. RESOURCE_EXHAUSTED beyond
  // Dataplane::kMaxPorts; ALREADY_EXISTS for a number in use.
  absl::Status Attach(Port& port, uint32_t number, const PortState& state);
  // Waits until no worker uses the port; sends what lies in its hand-over ring.
  // The final counters. NOT_FOUND.
  // What was learned behind the port is forgotten.
  absl::StatusOr<PortStats> Detach(uint32_t number);
  absl::Status SetState(uint32_t number, const PortState& state);
  // Whether the port's device has a link, for groups that watch it; true at first.
  void SetLink(uint32_t number, bool up);

  SharedTables tables() { return {groups_.published(), meters_.published(), macs_}; }
  GroupTable& groups() { return groups_; }
  MeterTable& meters() { return meters_; }

  // Gives every worker a new flow cache; 0: none.
  void SetFlowCache(uint32_t entries);
  uint32_t flow_cache_entries() const;

  // Calls fn with the ports as they are; they do not change meanwhile.
  void WithSnapshot(const std::function<void(const Snapshot&)>& fn) const;
  // What NORMAL has learned, and what the time is there.
  MacTable& macs() { return macs_; }
  uint32_t NowSeconds() const { return clock_.Seconds(WorkerClock::Cycles()); }
  // As Dataplane's.
  void ListenForPackets(bool listen);
  bool listens_for_packets() const { return workers_.front()->punts().listening(); }
  unsigned TakePackets(unsigned most, const Dataplane::PacketVisitor& visit);
  absl::StatusOr<Dataplane::Sent> SendPacket(const PacketToSend& packet);
  absl::StatusOr<std::shared_ptr<const Capture>> StartCapture(const CaptureSpec& spec);
  void EndCapture(const Capture& capture);
  void StopCapture(const Capture& capture);
  unsigned TakeCaptured(const Dataplane::CaptureVisitor& visit);

  // Now and then: forgets stations that are silent.
  void Housekeep();

  // What workers have counted; what only the device knows is left zero. NOT_FOUND.
  absl::StatusOr<PortStats> StatsOf(uint32_t number) const;
  std::vector<WorkerInfo> Workers() const;
  PacketTotals Totals() const;

 private:
  struct Entry {
    std::unique_ptr<AttachedPort> attached;
    PortState state;
  };

  unsigned WorkerCount() const { return static_cast<unsigned>(workers_.size()); }
  const Entry* Find(uint32_t number) const;
  std::unique_ptr<AttachedPort> NewPort(Port& port, uint32_t number);
  unsigned LeastLoaded();
  void Publish();
  PortStats Sum(const AttachedPort& port) const;
  void FlushHandOver(AttachedPort& port);
  std::vector<std::shared_ptr<Capture>> EndCapturesOf(uint32_t port);
  std::shared_ptr<Capture> Unpublish(const Capture& capture);

  rte_mempool* const pool_;
  Reclaimer& reclaimer_;
  std::atomic<const Snapshot*> snapshot_{nullptr};
  GroupTable groups_;
  MeterTable meters_;
  const WorkerClock clock_;
  MacTable macs_;
  uint32_t housekept_ = 0;  // seconds; of the one thread that keeps house
  std::vector<std::unique_ptr<Worker>> workers_;

  // Not absl::Mutex: ThreadSanitizer does not see into the distribution's.
  mutable std::mutex mutex_;  // guards what follows, and publishing
  std::vector<Entry> ports_;  // by number
  uint64_t generation_ = 0;   // of the snapshot published last
  uint32_t flow_cache_entries_ = 0;
  std::vector<unsigned> queues_;                    // by worker: receive queues it has
  std::vector<std::shared_ptr<Capture>> captures_;  // that workers see
  std::shared_ptr<CaptureRings> capture_rings_;     // while some capture was started and not stopped
  unsigned captures_started_ = 0;                   // and not stopped
  uint64_t last_capture_id_ = 0;
};

}  // namespace sluice
