#include "dataplane/worker/engine.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <cstdlib>
#include <latch>
#include <new>

#include "absl/strings/str_cat.h"
#include "dataplane/classifier/flow_cache.h"
#include "dataplane/worker/placement.h"
#include "dataplane/worker/transmit.h"

namespace sluice {
namespace {

// Frames that wait for another worker: some rounds' worth, since an owner that
// sleeps is away for 100 us.
constexpr unsigned kHandOverFrames = 1024;

// In plain memory: rte_ring_create would take a name and a memzone for each.
std::unique_ptr<rte_ring, FreeRing> NewHandOver() {
  const ssize_t size = rte_ring_get_memsize(kHandOverFrames);
  void* memory = std::aligned_alloc(RTE_CACHE_LINE_SIZE, static_cast<size_t>(size));
  if (memory == nullptr) throw std::bad_alloc();
  auto* ring = static_cast<rte_ring*>(memory);
  rte_ring_init(ring, "hand-over", kHandOverFrames, RING_F_SC_DEQ);
  return std::unique_ptr<rte_ring, FreeRing>(ring);
}

}  // namespace

void FreeRing::operator()(rte_ring* ring) const { std::free(ring); }

Engine::Engine(const Options& options, rte_mempool* pool, FlowTable& flows, Reclaimer& reclaimer)
    : pool_(pool),
      reclaimer_(reclaimer),
      groups_(static_cast<unsigned>(options.worker_cpus.size()), options.max_groups, reclaimer),
      meters_(static_cast<unsigned>(options.worker_cpus.size()), options.max_meters, reclaimer),
      macs_(options.macs),
      queues_(options.worker_cpus.size()) {
  for (unsigned id = 0; id < options.worker_cpus.size(); ++id) {
    const Worker::Options worker{
        .id = id, .cpu = options.worker_cpus[id], .idle = options.idle, .rx_burst = options.rx_burst};
    workers_.push_back(std::make_unique<Worker>(worker, pool, flows.classifier(), reclaimer, snapshot_, tables()));
  }
  SetFlowCache(options.flow_cache_entries);
  const std::lock_guard lock(mutex_);
  Publish();
}

Engine::~Engine() {
  workers_.clear();
  // Earlier snapshots are freed by now, or by the reclaimer at the latest.
  delete snapshot_.load(std::memory_order_relaxed);
}

void Engine::SetFlowCache(uint32_t entries) {
  const std::lock_guard lock(mutex_);
  flow_cache_entries_ = entries;
  for (const auto& worker : workers_) {
    std::shared_ptr<FlowCache> old = worker->SetCache(entries == 0 ? nullptr : std::make_unique<FlowCache>(entries));
    if (old != nullptr) reclaimer_.AfterGrace([old = std::move(old)] {});
  }
}

uint32_t Engine::flow_cache_entries() const {
  const std::lock_guard lock(mutex_);
  return flow_cache_entries_;
}

void Engine::Housekeep() {
  const uint32_t now = NowSeconds();
  if (now != housekept_) macs_.Expire(now);
  housekept_ = now;
}

void Engine::Start() {
  for (const auto& worker : workers_) worker->Start();
}

const Engine::Entry* Engine::Find(uint32_t number) const {
  const auto at = std::ranges::find(ports_, number, [](const Entry& each) { return each.attached->number; });
  return at == ports_.end() ? nullptr : &*at;
}

unsigned Engine::LeastLoaded() { return static_cast<unsigned>(std::ranges::min_element(queues_) - queues_.begin()); }

std::unique_ptr<AttachedPort> Engine::NewPort(Port& port, uint32_t number) {
  auto attached = std::make_unique<AttachedPort>();
  attached->number = number;
  attached->port = &port;
  attached->counters = std::make_unique<PortCounters[]>(WorkerCount() + 1);
  for (uint16_t queue = 0; queue < port.traits().rx_queues; ++queue) {
    attached->rx_workers.push_back(LeastLoaded());
    ++queues_[attached->rx_workers.back()];
  }
  if (port.traits().tx_queues < WorkerCount()) {
    attached->hand_over = NewHandOver();
    attached->tx_owner = attached->rx_workers.empty() ? LeastLoaded() : attached->rx_workers.front();
  }
  return attached;
}

absl::Status Engine::Attach(Port& port, uint32_t number, const PortState& state) {
  const std::lock_guard lock(mutex_);
  if (ports_.size() >= Dataplane::kMaxPorts) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", Dataplane::kMaxPorts, " ports already, the most that can be"));
  }
  if (Find(number) != nullptr) return absl::AlreadyExistsError(absl::StrCat("port number ", number, " is taken"));
  Entry entry;
  entry.attached = NewPort(port, number);
  entry.state = state;
  ports_.push_back(std::move(entry));
  std::ranges::sort(ports_, {}, [](const Entry& each) { return each.attached->number; });
  Publish();
  return absl::OkStatus();
}

absl::StatusOr<PortStats> Engine::Detach(uint32_t number) {
  std::unique_ptr<AttachedPort> port;
  std::vector<std::shared_ptr<Capture>> ended;
  const auto unused = std::make_shared<std::latch>(1);
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(ports_, number, [](const Entry& each) { return each.attached->number; });
    if (at == ports_.end()) return absl::NotFoundError(absl::StrCat("there is no port ", number));
    port = std::move(at->attached);
    ports_.erase(at);
    for (const unsigned worker : port->rx_workers) --queues_[worker];
    ended = EndCapturesOf(number);
    Publish();
    reclaimer_.AfterGrace([unused] { unused->count_down(); });
  }
  unused->wait();
  macs_.Flush({.port = number});
  FlushHandOver(*port);
  for (const auto& capture : ended) capture->SetOver();
  return Sum(*port);
}

absl::Status Engine::SetState(uint32_t number, const PortState& state) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(ports_, number, [](const Entry& each) { return each.attached->number; });
  if (at == ports_.end()) return absl::NotFoundError(absl::StrCat("there is no port ", number));
  at->state = state;
  Publish();
  return absl::OkStatus();
}

void Engine::SetLink(uint32_t number, bool up) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = Find(number);
  if (entry != nullptr) entry->attached->link_up.store(up, std::memory_order_relaxed);
}

void Engine::FlushHandOver(AttachedPort& port) {
  if (port.hand_over == nullptr) return;
  std::array<rte_mbuf*, kBatch> mbufs;
  while (const unsigned n = rte_ring_sc_dequeue_burst(port.hand_over.get(), reinterpret_cast<void**>(mbufs.data()),
                                                      mbufs.size(), nullptr)) {
    TransmitAll(port, 0, mbufs.data(), n, port.counters[WorkerCount()], nullptr);
  }
}

void Engine::Publish() {
  auto next = std::make_unique<Snapshot>();
  next->generation = ++generation_;
  next->polls.resize(WorkerCount());
  next->hand_overs.resize(WorkerCount());
  next->index.fill(Snapshot::kNoPort);
  if (!captures_.empty()) {
    next->captures = std::make_shared<const CapturePlan>(CapturePlan{.captures = captures_, .rings = capture_rings_});
  }
  for (const Entry& entry : ports_) {
    AttachedPort& port = *entry.attached;
    const auto i = static_cast<uint8_t>(next->port_count++);
    const uint32_t max_frame = port.port->traits().max_frame;
    const uint32_t plain_frame = std::min(max_frame, entry.state.mtu + PortView::kEthernetHeader);
    next->ports[i] = {.attached = &port,
                      .plain_frame = entry.state.enabled ? plain_frame : 0,
                      .number = port.number,
                      .mtu = entry.state.mtu,
                      .max_frame = max_frame,
                      .enabled = entry.state.enabled,
                      .takes_segments = port.port->traits().takes_segments};
    next->index[port.number] = i;
    if (entry.state.enabled) next->enabled |= 1u << i;
    if (port.hand_over != nullptr) next->hand_overs[port.tx_owner].push_back(i);
    if (!entry.state.enabled || !entry.state.receive) continue;
    for (uint16_t queue = 0; queue < port.port->traits().rx_queues; ++queue) {
      next->polls[port.rx_workers[queue]].push_back({.port = i, .queue = queue, .wake_fd = port.port->WakeFd(queue)});
    }
  }
  const Snapshot* old = snapshot_.exchange(next.release(), std::memory_order_acq_rel);
  // A worker that waits for devices must learn of the new ones.
  for (const auto& worker : workers_) worker->Wake();
  if (old != nullptr) reclaimer_.AfterGrace([old] { delete old; });
}

PortStats Engine::Sum(const AttachedPort& port) const {
  PortStats stats;
  for (unsigned i = 0; i <= WorkerCount(); ++i) {
    const PortCounters& counters = port.counters[i];
    // First: what it counts is complete in all that is read after it.
    stats.receive_packets += counters.receive_packets.Get();
    stats.receive_bytes += counters.receive_bytes.Get();
    stats.transmit_packets += counters.transmit_packets.Get();
    stats.transmit_bytes += counters.transmit_bytes.Get();
    stats.drop_tx_full += counters.drop_tx_full.Get();
    stats.drop_mtu += counters.drop_mtu.Get();
    stats.drop_down += counters.drop_down.Get();
    stats.drop_no_buffers += counters.drop_no_buffers.Get();
  }
  return stats;
}

void Engine::WithSnapshot(const std::function<void(const Snapshot&)>& fn) const {
  const std::lock_guard lock(mutex_);
  fn(*snapshot_.load(std::memory_order_relaxed));
}

absl::StatusOr<PortStats> Engine::StatsOf(uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const Entry* entry = Find(number);
  if (entry == nullptr) return absl::NotFoundError(absl::StrCat("there is no port ", number));
  return Sum(*entry->attached);
}

std::vector<WorkerInfo> Engine::Workers() const {
  const std::lock_guard lock(mutex_);
  std::vector<WorkerInfo> infos;
  for (unsigned id = 0; id < WorkerCount(); ++id) {
    const WorkerCounters& counters = workers_[id]->counters();
    const unsigned cpu = workers_[id]->options().cpu;
    infos.push_back({.id = id,
                     .cpu = cpu,
                     .numa_node = NumaNodeOf(cpu),
                     .rx_queues = queues_[id],
                     .busy_cycles = counters.busy_cycles.Get(),
                     .idle_cycles = counters.idle_cycles.Get(),
                     .sleeps = counters.sleeps.Get(),
                     .bursts = counters.bursts.Get(),
                     .flow_cache_hits = counters.flow_cache_hits.Get(),
                     .flow_cache_misses = counters.flow_cache_misses.Get(),
                     .flow_cache_evictions = counters.flow_cache_evictions.Get(),
                     .punted = counters.punted.Get(),
                     .punts_lost = counters.punts_lost.Get(),
                     .totals = counters.Read()});
  }
  return infos;
}

PacketTotals Engine::Totals() const {
  PacketTotals sum;
  for (const auto& worker : workers_) {
    const PacketTotals totals = worker->counters().Read();
    sum.received += totals.received;
    sum.injected += totals.injected;
    sum.forwarded += totals.forwarded;
    sum.malformed += totals.malformed;
    for (int i = 0; i < kDropReasonCount; ++i) sum.drops[i] += totals.drops[i];
  }
  return sum;
}

}  // namespace sluice
