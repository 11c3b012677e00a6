#include "dataplane/worker/worker.h"

#include <pthread.h>
#include <rte_lcore.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/classifier/flow_cache.h"
#include "dataplane/classifier/interest.h"
#include "dataplane/worker/placement.h"
#include "dataplane/worker/prepare.h"

namespace sluice {
namespace {

constexpr uint8_t kFirstTable = 0;

}  // namespace

Worker::Worker(const Options& options, rte_mempool* pool, Classifier& classifier, Reclaimer& reclaimer,
               const std::atomic<const Snapshot*>& snapshot, const SharedTables& tables)
    : options_(options),
      classifier_(classifier),
      reclaimer_(reclaimer),
      snapshot_(snapshot),
      sleeper_(options.id),
      tap_(options.id, clock_),
      hits_(options.id, clock_),
      transmitter_(options.id, pool, &tap_),
      executor_(options.id, pool, transmitter_, tables, clock_, counters_),
      lookup_(options.id, classifier, counters_),
      pipeline_(classifier, lookup_, executor_, hits_, tap_) {}

Worker::~Worker() { Stop(); }

std::unique_ptr<FlowCache> Worker::SetCache(std::unique_ptr<FlowCache> cache) {
  return lookup_.SetCache(std::move(cache));
}

void Worker::Start() {
  thread_ = std::thread([this] { Main(); });
}

void Worker::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  Wake();
  if (thread_.joinable()) thread_.join();
}

void Worker::Main() {
  pthread_setname_np(pthread_self(), absl::StrCat("worker-", options_.id).c_str());
  // Sleeps of microseconds end on time only without the kernel's usual slack.
  prctl(PR_SET_TIMERSLACK, 1000);
  if (absl::Status status = PinThisThread({options_.cpu}); !status.ok()) {
    spdlog::warn("worker {} is not bound to its CPU: {}", options_.id, std::string(status.message()));
  }
  // Gives the thread a cache of packet buffers; it works without.
  if (rte_thread_register() != 0) spdlog::warn("worker {} has no cache of packet buffers", options_.id);
  reclaimer_.Online(options_.id);
  Loop();
  reclaimer_.Offline(options_.id);
  rte_thread_unregister();
}

void Worker::Loop() {
  uint64_t before = WorkerClock::Cycles();
  idle_.Busy(clock_.Nanoseconds(before));
  while (!stop_.load(std::memory_order_relaxed)) {
    const bool busy = Round() != 0;
    const uint64_t now = WorkerClock::Cycles();
    (busy ? counters_.busy_cycles : counters_.idle_cycles).Add(now - before);
    before = now;
    if (busy) {
      idle_.Busy(clock_.Nanoseconds(now));
    } else if (options_.idle == IdleMode::kAdaptive) {
      if (const uint64_t nanoseconds = idle_.SleepNs(clock_.Nanoseconds(now)); nanoseconds != 0) Sleep(nanoseconds);
    }
  }
}

unsigned Worker::RunOnce() {
  reclaimer_.Online(options_.id);
  const unsigned moved = Round();
  reclaimer_.Offline(options_.id);
  return moved;
}

unsigned Worker::Round() {
  const Snapshot& snapshot = *snapshot_.load(std::memory_order_acquire);
  tap_.Begin(snapshot.captures.get());
  burst_.tap = tap_.on() ? &tap_ : nullptr;
  unsigned moved = 0;
  for (const Snapshot::RxQueue& queue : snapshot.polls[options_.id]) moved += PollQueue(snapshot, queue);
  if (!injections_.empty()) [[unlikely]]
    moved += RunInjections(snapshot);
  moved += transmitter_.EmptyHandOvers(snapshot);
  reclaimer_.Quiescent(options_.id);
  return moved;
}

unsigned Worker::PollQueue(const Snapshot& snapshot, const Snapshot::RxQueue& queue) {
  AttachedPort& port = *snapshot.ports[queue.port].attached;
  const unsigned received =
      port.port->Receive(queue.queue, burst_.mbufs.data(), static_cast<uint16_t>(options_.rx_burst));
  if (received == 0) return 0;
  burst_.count = received;
  if (tap_.on()) [[unlikely]] {
    RestoreTags(burst_);
    tap_.Receive(port.number, burst_.mbufs.data(), received);
  }
  const TableView view = classifier_.View();
  Prepare(burst_, port.number, view.interest->beyond_link);
  Forward(snapshot, view, queue.port);
  transmitter_.Flush(snapshot);
  Count(port.counters[options_.id], received);
  return received;
}

// Of each packet: what is done with it and where it is counted. Flows next to
// each other are mostly different ones where there are many.
void Worker::AskForFlows() const {
  for (unsigned i = 0; i < burst_.count; ++i) {
    const ClassifierEntry* entry = burst_.entries[i];
    if (entry == nullptr) continue;
    __builtin_prefetch(entry->actions);
    __builtin_prefetch(&entry->flow()->counters, 1);
  }
}

// Before any of them is rewritten.
void Worker::CaptureMatches() {
  for (unsigned i = 0; i < burst_.count; ++i) {
    if (burst_.entries[i] != nullptr) tap_.Match(*burst_.entries[i], burst_.mbufs[i], burst_.keys[i]);
  }
}

// Packets of a flow often come in trains: what concerns the flow is done once for
// those next to each other.
void Worker::Forward(const Snapshot& snapshot, const TableView& view, uint8_t ingress) {
  if (burst_.count == 0) return;
  lookup_.Find(view, kFirstTable, burst_.keys.data(), burst_.count, burst_.entries.data());
  AskForFlows();
  if (tap_.on()) [[unlikely]]
    CaptureMatches();
  for (unsigned i = 0, end = 0; i < burst_.count; i = end) {
    const ClassifierEntry* entry = burst_.entries[i];
    uint64_t bytes = 0;
    for (; end < burst_.count && burst_.entries[end] == entry; ++end) bytes += burst_.bytes[end];
    if (entry == nullptr) {
      Miss(snapshot, view, ingress, i, end);
      continue;
    }
    hits_.Add(entry, end - i, bytes);
    if (executor_.RunSimple(snapshot, ingress, *entry->actions, burst_, i, end)) continue;
    for (; i < end; ++i) pipeline_.Run(snapshot, view, ingress, burst_, i);
  }
}

// Packets that no flow of the first table matches.
void Worker::Miss(const Snapshot& snapshot, const TableView& view, uint8_t ingress, unsigned i, unsigned end) {
  const bool drop = classifier_.miss_policy(kFirstTable) == MissPolicy::kDrop;
  for (; i < end; ++i) {
    if (drop) {
      burst_.Drop(burst_.mbufs[i], DropReason::kNoFlow);
    } else {
      pipeline_.Run(snapshot, view, ingress, burst_, i);
    }
  }
}

// Whoever sees these packets as received sees all that became of them.
void Worker::Count(PortCounters& port, unsigned received) {
  hits_.Flush();
  counters_.bursts.Add(1);
  counters_.Commit(burst_.totals, [&] {
    port.receive_bytes.Add(burst_.received_bytes);
    port.receive_packets.Add(received, std::memory_order_release);
  });
  burst_.totals = {};
  burst_.received_bytes = 0;
}

unsigned Worker::RunInjections(const Snapshot& snapshot) {
  unsigned n = 0;
  for (Injection* injection = injections_.Take(); injection != nullptr; ++n) {
    // Once it is done it may be gone.
    Injection* const next = injection->next;
    RunInjection(snapshot, *injection);
    injection->done.store(true, std::memory_order_release);
    injection = next;
  }
  return n;
}

void Worker::RunInjection(const Snapshot& snapshot, Injection& injection) {
  const TableView view = classifier_.View();
  const uint8_t ingress = injection.in_port == 0 ? Snapshot::kNoIngress : snapshot.IndexOf(injection.in_port);
  TakeUp(&injection.mbuf, 1);
  burst_.mbufs[0] = injection.mbuf;
  burst_.count = 1;
  tap_.Inject(injection.in_port);
  // As deep as can be: what the actions look at is no flow's interest.
  Prepare(burst_, injection.in_port, true);
  burst_.totals.injected = std::exchange(burst_.totals.received, 0);
  burst_.received_bytes = 0;
  if (burst_.count == 0) {
    injection.cause = DropReason::kMalformed;
  } else if (ingress == Snapshot::kNoPort) {
    injection.cause = DropReason::kNoSuchPort;
    burst_.Drop(burst_.mbufs[0], injection.cause);
  } else {
    const Pipeline::Fate fate = pipeline_.Inject(snapshot, view, ingress, injection.actions, burst_, 0);
    injection.forwarded = fate.forwarded;
    injection.cause = fate.cause;
  }
  transmitter_.Flush(snapshot);
  hits_.Flush();
  counters_.Commit(burst_.totals, [] {});
  burst_.totals = {};
}

void Worker::Sleep(uint64_t nanoseconds) {
  counters_.sleeps.Add(1);
  sleeper_.Prepare(*snapshot_.load(std::memory_order_acquire));
  reclaimer_.Offline(options_.id);
  sleeper_.Sleep(nanoseconds);
  reclaimer_.Online(options_.id);
}

}  // namespace sluice
