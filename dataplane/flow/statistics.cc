#include "dataplane/flow/statistics.h"

#include <algorithm>
#include <new>
#include <utility>

#include "dataplane/flow/flow_table.h"

namespace sluice {
namespace {

struct RawSum {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  int64_t last_used_unix_ns = 0;

  void Add(const CounterSlot& slot) {
    packets += slot.packets.load(std::memory_order_relaxed);
    bytes += slot.bytes.load(std::memory_order_relaxed);
    last_used_unix_ns = std::max(last_used_unix_ns, slot.last_used_unix_ns.load(std::memory_order_relaxed));
  }
};

RawSum SumSlots(const CounterIndex& index, const CounterLine& line) {
  RawSum sum;
  sum.Add(line.first);
  sum.Add(line.spill);
  const SlotDirectory* directory = index.directory.load(std::memory_order_acquire);
  if (directory == nullptr) return sum;
  for (unsigned worker = 0; worker < index.pools->worker_count(); ++worker) {
    const WorkerSlot* slot = directory[worker].load(std::memory_order_acquire);
    if (slot != nullptr) sum.Add(*slot);
  }
  return sum;
}

SlotDirectory* DirectoryOf(CounterIndex& index, unsigned worker) {
  SlotDirectory* directory = index.directory.load(std::memory_order_acquire);
  if (directory != nullptr) return directory;
  SlotDirectory* mine = index.pools->TakeDirectory(worker);
  if (mine == nullptr) return nullptr;
  if (index.directory.compare_exchange_strong(directory, mine, std::memory_order_acq_rel)) return mine;
  index.pools->KeepDirectory(worker, mine);
  return directory;
}

// Null if the pool is empty.
CounterSlot* SlotOf(CounterIndex& index, CounterLine& line, unsigned worker) {
  // Looked at before the exchange, which would take the line from its readers.
  uint32_t owner = index.first_owner.load(std::memory_order_relaxed);
  if (owner == 0 && index.first_owner.compare_exchange_strong(owner, worker + 1, std::memory_order_relaxed)) {
    return &line.first;
  }
  SlotDirectory* directory = DirectoryOf(index, worker);
  if (directory == nullptr) return nullptr;
  WorkerSlot* slot = directory[worker].load(std::memory_order_relaxed);
  if (slot != nullptr) return slot;
  slot = index.pools->TakeSlot(worker);
  if (slot != nullptr) directory[worker].store(slot, std::memory_order_release);
  return slot;
}

}  // namespace

void CounterSlot::AddShared(uint64_t more_packets, uint64_t more_bytes, int64_t now) {
  packets.fetch_add(more_packets, std::memory_order_relaxed);
  bytes.fetch_add(more_bytes, std::memory_order_relaxed);
  int64_t last = last_used_unix_ns.load(std::memory_order_relaxed);
  while (last < now && !last_used_unix_ns.compare_exchange_weak(last, now, std::memory_order_relaxed)) {
  }
}

CounterPools::CounterPools(unsigned worker_count)
    : slots_(sizeof(WorkerSlot)), directories_((worker_count * sizeof(SlotDirectory) + 15) / 16 * 16) {
  for (unsigned i = 0; i < worker_count; ++i) pools_.push_back(std::make_unique<Pool>());
  Refill();
}

CounterPools::~CounterPools() {
  for (const auto& pool : pools_) {
    while (WorkerSlot* slot = pool->slots.Take()) slots_.Free(slot);
    while (SlotDirectory* directory = pool->directories.Take()) directories_.Free(directory);
    if (pool->spare_directory != nullptr) directories_.Free(pool->spare_directory);
  }
}

void CounterPools::Refill() {
  if (worker_count() < 2) return;
  for (const auto& pool : pools_) {
    while (!pool->slots.Full()) pool->slots.Put(new (slots_.Allocate()) WorkerSlot);
    while (!pool->directories.Full()) pool->directories.Put(NewDirectory());
  }
}

void CounterPools::Free(CounterIndex& index) {
  SlotDirectory* directory = index.directory.load(std::memory_order_acquire);
  if (directory == nullptr) return;
  for (unsigned worker = 0; worker < worker_count(); ++worker) {
    WorkerSlot* slot = directory[worker].load(std::memory_order_acquire);
    if (slot != nullptr) slots_.Free(slot);
  }
  directories_.Free(directory);
}

WorkerSlot* CounterPools::TakeSlot(unsigned worker) { return pools_[worker]->slots.Take(); }

SlotDirectory* CounterPools::TakeDirectory(unsigned worker) {
  SlotDirectory* spare = std::exchange(pools_[worker]->spare_directory, nullptr);
  return spare != nullptr ? spare : pools_[worker]->directories.Take();
}

SlotDirectory* CounterPools::NewDirectory() {
  auto* directory = static_cast<SlotDirectory*>(directories_.Allocate());
  for (unsigned worker = 0; worker < worker_count(); ++worker) new (&directory[worker]) SlotDirectory(nullptr);
  return directory;
}

void CountElsewhere(CounterIndex& index, CounterLine& line, unsigned worker, uint64_t packets, uint64_t bytes,
                    int64_t now) {
  CounterSlot* slot = SlotOf(index, line, worker);
  if (slot != nullptr) return slot->Add(packets, bytes, now);
  line.spill.AddShared(packets, bytes, now);
}

FlowStats Sum(const CounterIndex& index, const CounterLine& line) {
  const RawSum sum = SumSlots(index, line);
  FlowStats stats{.packets = sum.packets - line.base_packets, .bytes = sum.bytes - line.base_bytes};
  if (sum.last_used_unix_ns != 0) stats.last_used = absl::FromUnixNanos(sum.last_used_unix_ns);
  return stats;
}

void ResetBase(const CounterIndex& index, CounterLine& line) {
  const RawSum sum = SumSlots(index, line);
  line.base_packets = sum.packets;
  line.base_bytes = sum.bytes;
}

}  // namespace sluice
