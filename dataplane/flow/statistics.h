// Counters of flows: one writer each, summed by whoever reads.
//
// A flow comes with one slot, which belongs to the first worker that hits it
// (one compare-exchange in the flow's life). Any other worker takes a slot of
// its own from its pool, which a control thread keeps filled, and finds it again
// through the flow's directory. With the pool empty it adds to the flow's spill
// slot, which all share, by atomic additions, and takes a slot at a later hit:
// nothing is allocated on the packet path and nothing is lost. A reader sums the
// first slot, the spill slot and all others, always; resetting moves the base
// that is subtracted, since nobody but a worker writes to its slot. A sum
// otherwise never goes backwards.
//
// Threads: Count and Take… are worker `worker`'s; all else is for control
// threads, one at a time. Not done: slots are not placed by NUMA node.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/flow/slab.h"

namespace sluice {

struct FlowStats;

struct CounterSlot {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<int64_t> last_used_unix_ns{0};  // 0: never

  // The slot's owner only.
  void Add(uint64_t more_packets, uint64_t more_bytes, int64_t now) {
    packets.store(packets.load(std::memory_order_relaxed) + more_packets, std::memory_order_relaxed);
    bytes.store(bytes.load(std::memory_order_relaxed) + more_bytes, std::memory_order_relaxed);
    last_used_unix_ns.store(now, std::memory_order_relaxed);
  }
  // Any worker.
  void AddShared(uint64_t more_packets, uint64_t more_bytes, int64_t now);
};

// On a line of its own: no other worker's slot is near.
struct alignas(64) WorkerSlot : CounterSlot {};
// Points to an array with one element a worker; each writes its own, once.
using SlotDirectory = std::atomic<WorkerSlot*>;

class CounterPools;

// How workers find a flow's slots. It lies apart from the counters: workers read
// it at every hit and it is written but a few times.
struct CounterIndex {
  std::atomic<SlotDirectory*> directory{nullptr};  // the others' slots
  CounterPools* pools = nullptr;
  std::atomic<uint32_t> first_owner{0};  // the worker that `first` belongs to, plus one
};

struct alignas(64) CounterLine {
  CounterSlot first;
  CounterSlot spill;
  uint64_t base_packets = 0;  // control threads only
  uint64_t base_bytes = 0;
};
static_assert(sizeof(CounterLine) == 64);

// What workers take slots and directories from.
class CounterPools {
 public:
  explicit CounterPools(unsigned worker_count);
  ~CounterPools();

  void Refill();
  // Puts back what workers added to a flow; none may know the flow any more.
  void Free(CounterIndex& index);
  unsigned worker_count() const { return static_cast<unsigned>(pools_.size()); }

  // Null if there is none left.
  WorkerSlot* TakeSlot(unsigned worker);
  SlotDirectory* TakeDirectory(unsigned worker);
  // A directory that the worker took and found no use for.
  void KeepDirectory(unsigned worker, SlotDirectory* directory) { pools_[worker]->spare_directory = directory; }

 private:
  // From the control side to one worker.
  template <typename T>
  class Ring {
   public:
    static constexpr uint32_t kCapacity = 1024;

    bool Full() const {
      return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire) == kCapacity;
    }
    void Put(T* item) {
      const uint32_t tail = tail_.load(std::memory_order_relaxed);
      items_[tail % kCapacity] = item;
      tail_.store(tail + 1, std::memory_order_release);
    }
    T* Take() {
      const uint32_t head = head_.load(std::memory_order_relaxed);
      if (head == tail_.load(std::memory_order_acquire)) return nullptr;
      T* item = items_[head % kCapacity];
      head_.store(head + 1, std::memory_order_release);
      return item;
    }

   private:
    alignas(64) std::atomic<uint32_t> head_{0};
    alignas(64) std::atomic<uint32_t> tail_{0};
    std::array<T*, kCapacity> items_;
  };
  struct Pool {
    Ring<WorkerSlot> slots;
    Ring<SlotDirectory> directories;
    SlotDirectory* spare_directory = nullptr;  // the worker's
  };

  SlotDirectory* NewDirectory();

  std::vector<std::unique_ptr<Pool>> pools_;
  Slab slots_;
  Slab directories_;
};

void CountElsewhere(CounterIndex& index, CounterLine& line, unsigned worker, uint64_t packets, uint64_t bytes,
                    int64_t now);

// True if the first slot is this worker's, as it will be from then on.
inline bool Count(CounterIndex& index, CounterLine& line, unsigned worker, uint64_t packets, uint64_t bytes,
                  int64_t now) {
  if (index.first_owner.load(std::memory_order_relaxed) == worker + 1) {
    line.first.Add(packets, bytes, now);
    return true;
  }
  CountElsewhere(index, line, worker, packets, bytes, now);
  return false;
}

FlowStats Sum(const CounterIndex& index, const CounterLine& line);
// From now on Sum tells what is counted from now on; last_used stays.
void ResetBase(const CounterIndex& index, CounterLine& line);

}  // namespace sluice
