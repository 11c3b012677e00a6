#include "dataplane/dataplane.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/port/port_registry.h"
#include "dataplane/worker/eal.h"
#include "dataplane/worker/engine.h"
#include "dataplane/worker/memory.h"
#include "dataplane/worker/placement.h"
#include "dataplane/worker/reclaimer.h"
#include "dataplane/worker/tracer.h"

namespace sluice {
namespace {

absl::Status CheckRange(const char* what, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, "; it must be ", least, " to ", most));
}

absl::Status CheckConfig(const DataplaneConfig& config) {
  // The buffers' size and headroom together must fit 16 bits.
  for (const absl::Status& status :
       {CheckRange("mac_learning.entries", config.macs.entries, 1, kMaxMacEntries),
        CheckRange("mac_learning.age_seconds", config.macs.age_seconds, 1, kMaxMacAgeSeconds),
        CheckRange("rx_burst", config.rx_burst, 1, kBatch),
        CheckRange("packet_buffers", config.packet_buffers, 512, 1 << 24),
        CheckRange("packet_buffer_bytes", config.packet_buffer_bytes, 512, 65407),
        CheckRange("flow_cache_entries", config.flow_cache_entries, 0, kMaxFlowCacheEntries),
        CheckRange("mask_cache_entries", config.classifier.mask_cache_entries, 0, kMaxMaskCacheEntries)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Calls the housekeeping of flow table and engine, and sees to it that workers know of links, as long as it lives.
class Housekeeper {
 public:
  Housekeeper(FlowTable& flows, Engine& engine, PortRegistry& ports)
      : thread_([this, &flows, &engine, &ports] { Run(flows, engine, ports); }) {}
  ~Housekeeper() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_one();
    thread_.join();
  }

 private:
  static constexpr unsigned kRoundsPerLinkCheck = 10;

  void Run(FlowTable& flows, Engine& engine, PortRegistry& ports) {
    pthread_setname_np(pthread_self(), "housekeeping");
    std::unique_lock lock(mutex_);
    for (unsigned round = 0; !stopped_.wait_for(lock, std::chrono::milliseconds(10), [this] { return stop_; });
         ++round) {
      flows.Housekeep();
      engine.Housekeep();
      if (round % kRoundsPerLinkCheck == 0) ports.CheckLinks();
    }
  }

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace

// Members are in the order in which they come up; they go down in reverse. Ports
// close before the workers stop: removing one waits for them.
class Dataplane::Impl {
 public:
  Impl(const DataplaneConfig& config, const Placement& placement, const MemoryPlan& memory, std::unique_ptr<Eal> eal)
      : eal_(std::move(eal)),
        reclaimer_(static_cast<unsigned>(placement.worker_cpus.size())),
        flows_(static_cast<unsigned>(placement.worker_cpus.size()), config.limits, reclaimer_, config.classifier),
        engine_({.worker_cpus = placement.worker_cpus,
                 .idle = config.idle,
                 .rx_burst = config.rx_burst,
                 .flow_cache_entries = config.flow_cache_entries,
                 .max_groups = config.max_groups,
                 .max_meters = config.max_meters,
                 .macs = config.macs},
                eal_->pool(), flows_, reclaimer_),
        ports_({.workers = static_cast<unsigned>(placement.worker_cpus.size()),
                .buffer_bytes = config.packet_buffer_bytes,
                .use_pci = config.use_pci},
               eal_->pool(), engine_),
        housekeeper_(flows_, engine_, ports_),
        environment_{.dpdk_version = eal_->Version(), .huge_pages = memory.huge_pages, .tsc_hz = eal_->TscHz()} {
    engine_.Start();
  }

  FlowTable& flows() { return flows_; }
  Engine& engine() { return engine_; }
  PortRegistry& ports() { return ports_; }
  absl::StatusOr<TraceResult> Trace(uint32_t in_port, const FrameBytes& frame) {
    return sluice::Trace(engine_, flows_, eal_->pool(), in_port, frame);
  }
  const Environment& environment() const { return environment_; }

 private:
  std::unique_ptr<Eal> eal_;
  Reclaimer reclaimer_;
  FlowTable flows_;
  Engine engine_;
  PortRegistry ports_;
  Housekeeper housekeeper_;
  Environment environment_;
};

absl::StatusOr<std::unique_ptr<Dataplane>> Dataplane::Start(const DataplaneConfig& config) {
  if (absl::Status status = CheckConfig(config); !status.ok()) return status;
  const absl::StatusOr<std::vector<unsigned>> allowed = AllowedCpus();
  if (!allowed.ok()) return allowed.status();
  const absl::StatusOr<Placement> placement = PlaceWorkers(*allowed, config.worker_cpus, config.worker_count);
  if (!placement.ok()) return placement.status();
  const absl::StatusOr<MemoryPlan> memory = PlanMemory(config, ReadMemory());
  if (!memory.ok()) return memory.status();
  absl::StatusOr<std::unique_ptr<Eal>> eal = Eal::Start(config, *placement, *memory);
  if (!eal.ok()) return eal.status();
  auto impl = std::make_unique<Impl>(config, *placement, *memory, *std::move(eal));
  return std::unique_ptr<Dataplane>(new Dataplane(std::move(impl)));
}

Dataplane::Dataplane(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Dataplane::~Dataplane() = default;

FlowTable& Dataplane::flows() { return impl_->flows(); }
GroupTable& Dataplane::groups() { return impl_->engine().groups(); }
MeterTable& Dataplane::meters() { return impl_->engine().meters(); }

absl::Status Dataplane::SetFlowCacheEntries(uint32_t entries) {
  absl::Status status = CheckRange("flow_cache_entries", entries, 0, kMaxFlowCacheEntries);
  if (status.ok()) impl_->engine().SetFlowCache(entries);
  return status;
}

uint32_t Dataplane::flow_cache_entries() const { return impl_->engine().flow_cache_entries(); }

absl::StatusOr<PortInfo> Dataplane::AddPort(const PortConfig& config) { return impl_->ports().Add(config); }
absl::StatusOr<PortInfo> Dataplane::RemovePort(uint32_t number) { return impl_->ports().Remove(number); }
absl::StatusOr<PortInfo> Dataplane::UpdatePort(uint32_t number, const PortChange& change) {
  return impl_->ports().Update(number, change);
}
absl::StatusOr<PortInfo> Dataplane::GetPort(uint32_t number) const { return impl_->ports().Get(number); }
absl::StatusOr<uint32_t> Dataplane::PortNumber(const std::string& name) const { return impl_->ports().NumberOf(name); }
std::string Dataplane::PortName(uint32_t number) const { return impl_->ports().NameOf(number); }
std::vector<PortInfo> Dataplane::ListPorts() const { return impl_->ports().List(); }
absl::StatusOr<TraceResult> Dataplane::Trace(uint32_t in_port, const FrameBytes& frame) const {
  return impl_->Trace(in_port, frame);
}
void Dataplane::ListenForPackets(bool listen) { impl_->engine().ListenForPackets(listen); }
unsigned Dataplane::TakePackets(unsigned most, const PacketVisitor& visit) {
  return impl_->engine().TakePackets(most, visit);
}
absl::StatusOr<std::shared_ptr<const Capture>> Dataplane::StartCapture(const CaptureSpec& spec) {
  return impl_->engine().StartCapture(spec);
}
void Dataplane::EndCapture(const Capture& capture) { impl_->engine().EndCapture(capture); }
void Dataplane::StopCapture(const Capture& capture) { impl_->engine().StopCapture(capture); }
unsigned Dataplane::TakeCaptured(const CaptureVisitor& visit) { return impl_->engine().TakeCaptured(visit); }
absl::StatusOr<Dataplane::Sent> Dataplane::SendPacket(const PacketToSend& packet) {
  return impl_->engine().SendPacket(packet);
}
std::vector<MacEntry> Dataplane::ListMacs(const MacFilter& filter) const {
  Engine& engine = impl_->engine();
  return engine.macs().List(filter, engine.NowSeconds());
}
size_t Dataplane::FlushMacs(const MacFilter& filter) { return impl_->engine().macs().Flush(filter); }
MacTableInfo Dataplane::Macs() const { return impl_->engine().macs().Info(); }
std::vector<WorkerInfo> Dataplane::Workers() const { return impl_->engine().Workers(); }
PacketTotals Dataplane::Totals() const { return impl_->engine().Totals(); }
const Dataplane::Environment& Dataplane::environment() const { return impl_->environment(); }

const char* DropReasonName(DropReason reason) {
  switch (reason) {
    case DropReason::kNoFlow:
      return "no_flow";
    case DropReason::kActionDrop:
      return "action_drop";
    case DropReason::kTtl:
      return "ttl";
    case DropReason::kOutputToIngress:
      return "output_to_ingress";
    case DropReason::kNoSuchPort:
      return "no_such_port";
    case DropReason::kMalformed:
      return "malformed";
    case DropReason::kActionSetFull:
      return "action_set_full";
    case DropReason::kNoSuchGroup:
      return "no_such_group";
    case DropReason::kNoLiveBucket:
      return "no_live_bucket";
    case DropReason::kMeter:
      return "meter";
    case DropReason::kNoBuffers:
      return "no_buffers";
    case DropReason::kReservedAddress:
      return "reserved_address";
    case DropReason::kNoController:
      return "no_controller";
    case DropReason::kControllerQueue:
      return "controller_queue";
  }
  return "unknown";
}

}  // namespace sluice
