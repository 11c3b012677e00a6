// The dataplane as the server sees it: flows, ports, workers, counters.
//
// Owns everything below it and starts and stops it in the right order. No DPDK
// type, no proto, no gRPC passes through here. All functions may be called from
// any control thread; none waits for a worker except where it says so.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/capture.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/flow/injection.h"
#include "dataplane/flow/mac_table.h"
#include "dataplane/flow/punt_ring.h"
#include "dataplane/group/group_table.h"
#include "dataplane/meter/meter_table.h"
#include "dataplane/port/port_config.h"
#include "dataplane/trace.h"

namespace sluice {

enum class HugePages {
  kNever,   // plain memory
  kAuto,    // huge pages if enough are free, else plain memory
  kDemand,  // refuse to start without
};

enum class IdleMode {
  kAdaptive,  // back off, then sleep up to 100 us
  kPoll,      // never sleep
};

inline constexpr uint32_t kDefaultFlowCacheEntries = 262'144;
inline constexpr uint32_t kMaxFlowCacheEntries = 1 << 24;
inline constexpr uint32_t kDefaultGroups = 4096;
inline constexpr uint32_t kDefaultMeters = 4096;

struct DataplaneConfig {
  HugePages huge_pages = HugePages::kNever;
  uint32_t memory_mb = 0;               // 0: what the pool below needs, and room for tables
  uint32_t packet_buffers = 16384;      // mbufs in the pool
  uint32_t packet_buffer_bytes = 2176;  // room for frame bytes in each; longer frames take several
  bool use_pci = false;                 // probe PCI devices
  std::vector<std::string> eal_args;    // more arguments for EAL, as they are
  std::vector<unsigned> worker_cpus;    // empty: worker_count of the allowed CPUs, chosen by PlaceWorkers
  unsigned worker_count = 1;
  IdleMode idle = IdleMode::kAdaptive;
  unsigned rx_burst = 32;  // frames taken from a queue at a time, 1 to 32
  // Answers that a worker remembers, 16 bytes each; rounded up to a power of two; 0: none.
  uint32_t flow_cache_entries = kDefaultFlowCacheEntries;
  FlowTableLimits limits;
  uint32_t max_groups = kDefaultGroups;
  uint32_t max_meters = kDefaultMeters;
  MacTableOptions macs;
  ClassifierOptions classifier;
};

// Why packets were dropped; each dropped packet has exactly one.
enum class DropReason : uint8_t {
  kNoFlow,
  kActionDrop,
  kTtl,
  kOutputToIngress,
  kNoSuchPort,
  kMalformed,
  kNoBuffers,
  kActionSetFull,
  kNoSuchGroup,
  kNoLiveBucket,
  kMeter,
  kReservedAddress,  // NORMAL does not forward frames to it
  kNoController,     // for controllers only, and none listens
  kControllerQueue,  // for controllers only, and the worker's queue to them is full
};
inline constexpr int kDropReasonCount = 14;
// As in metrics and the API, for example "no_flow".
const char* DropReasonName(DropReason reason);

struct PacketTotals {
  uint64_t received = 0;
  uint64_t injected = 0;   // packets that controllers sent: received + injected = forwarded + drops
  uint64_t forwarded = 0;  // packets with at least one output, a controller that listens among them
  uint64_t drops[kDropReasonCount] = {};
  // Packets, forwarded or dropped, whose headers contradict their own length; found
  // in headers that some flow looks at or rewrites, others are not parsed.
  uint64_t malformed = 0;
};

struct WorkerInfo {
  unsigned id = 0;
  unsigned cpu = 0;
  int numa_node = -1;
  unsigned rx_queues = 0;
  uint64_t busy_cycles = 0;  // TSC cycles of polls that brought packets
  uint64_t idle_cycles = 0;  // TSC cycles of the others, sleep included
  uint64_t sleeps = 0;
  uint64_t bursts = 0;                // polls that brought packets
  uint64_t flow_cache_hits = 0;       // packets
  uint64_t flow_cache_misses = 0;     // packets
  uint64_t flow_cache_evictions = 0;  // answers that held and gave way to others
  uint64_t punted = 0;                // copies of packets queued for controllers
  uint64_t punts_lost = 0;            // copies that the full queue did not take
  PacketTotals totals;
};

class Dataplane {
 public:
  // Brings up EAL, the pool and the workers. Once a process, since EAL can't
  // start twice. Errors: INVALID_ARGUMENT (configuration), PERMISSION_DENIED,
  // RESOURCE_EXHAUSTED (memory: says what is needed and what there is),
  // INTERNAL with EAL's own reason.
  static absl::StatusOr<std::unique_ptr<Dataplane>> Start(const DataplaneConfig& config);
  // Stops the workers, closes the ports, frees everything.
  ~Dataplane();

  FlowTable& flows();
  GroupTable& groups();
  MeterTable& meters();

  // Of every worker, from its next burst on, empty; 0: none. INVALID_ARGUMENT
  // beyond kMaxFlowCacheEntries.
  absl::Status SetFlowCacheEntries(uint32_t entries);
  uint32_t flow_cache_entries() const;

  // Waits for the device, not for workers. ALREADY_EXISTS, INVALID_ARGUMENT,
  // PERMISSION_DENIED, RESOURCE_EXHAUSTED (ports), FAILED_PRECONDITION with the
  // device's own reason.
  absl::StatusOr<PortInfo> AddPort(const PortConfig& config);
  // Waits until no worker uses the port. NOT_FOUND.
  absl::StatusOr<PortInfo> RemovePort(uint32_t number);
  struct PortChange {
    std::optional<bool> enabled;
    std::optional<bool> receive;
    std::optional<uint32_t> mtu;
  };
  absl::StatusOr<PortInfo> UpdatePort(uint32_t number, const PortChange& change);
  absl::StatusOr<PortInfo> GetPort(uint32_t number) const;
  absl::StatusOr<uint32_t> PortNumber(const std::string& name) const;
  std::string PortName(uint32_t number) const;  // empty: there is none
  std::vector<PortInfo> ListPorts() const;      // by ascending number

  // What NORMAL has learned.
  std::vector<MacEntry> ListMacs(const MacFilter& filter) const;
  size_t FlushMacs(const MacFilter& filter);  // how many
  MacTableInfo Macs() const;

  // Packets for controllers are queued from when somebody listens, at first nobody.
  void ListenForPackets(bool listen);
  // Takes up to `most` of what each worker has queued, in its order. One thread at a time.
  using PacketVisitor = std::function<void(const PuntedPacket& packet, std::span<const uint8_t> bytes)>;
  unsigned TakePackets(unsigned most, const PacketVisitor& visit);

  // Captures packets (capture.h) from when it returns until StopCapture, which each
  // capture needs; or until its port is removed, then it is over() and keeps what it
  // has. Waits for the workers. NOT_FOUND: no such port; RESOURCE_EXHAUSTED: beyond
  // kMaxCaptures.
  static constexpr unsigned kMaxCaptures = 64;
  absl::StatusOr<std::shared_ptr<const Capture>> StartCapture(const CaptureSpec& spec);
  // It gets no more, and is over() once no worker adds to it; keeps what it has.
  void EndCapture(const Capture& capture);
  void StopCapture(const Capture& capture);
  // Takes all that workers have captured by now, those of a worker in their order; also of captures that were stopped
  // meanwhile. One thread at a time. Returns how many.
  using CaptureVisitor = std::function<void(const CapturedPacket& packet, std::span<const uint8_t> bytes)>;
  unsigned TakeCaptured(const CaptureVisitor& visit);

  // Has a worker carry out the actions on a packet; waits for it, some microseconds if
  // it is not asleep. Packets sent one after another keep their order. NOT_FOUND: no
  // such in_port; RESOURCE_EXHAUSTED: no packet buffers.
  struct Sent {
    bool forwarded = false;
    DropReason cause{};  // else: why not
  };
  absl::StatusOr<Sent> SendPacket(const PacketToSend& packet);

  // What would become of a frame of at most 65,535 bytes that port in_port receives.
  // Changes and counts nothing. NOT_FOUND without that port; RESOURCE_EXHAUSTED
  // without packet buffers.
  absl::StatusOr<TraceResult> Trace(uint32_t in_port, const FrameBytes& frame) const;

  std::vector<WorkerInfo> Workers() const;
  PacketTotals Totals() const;  // the workers' summed

  struct Environment {
    std::string dpdk_version;
    bool huge_pages = false;
    uint64_t tsc_hz = 0;
  };
  const Environment& environment() const;
  static constexpr unsigned kMaxPorts = 32;

 private:
  class Impl;
  explicit Dataplane(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
