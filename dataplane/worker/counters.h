// Counters with one writer each.
//
// A counter belongs to one thread, which adds by a plain load and store of 64
// bits (relaxed): no lock, no atomic add, no cache line that two workers write.
// Readers sum over workers.
//
// What a burst did to a worker's totals becomes visible as one (CommitSection),
// so "received = forwarded + drops" holds whenever somebody reads. Flow and port
// counters are stored no later than that: who has read that N packets were
// received finds the rest of these N packets as well.

#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "dataplane/dataplane.h"

namespace sluice {

class Counter {
 public:
  void Add(uint64_t n, std::memory_order order = std::memory_order_relaxed) {
    value_.store(value_.load(std::memory_order_relaxed) + n, order);
  }
  uint64_t Get() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> value_{0};
};

// What one worker counts of one port; a cache line.
struct alignas(64) PortCounters {
  Counter receive_packets;
  Counter receive_bytes;
  Counter transmit_packets;
  Counter transmit_bytes;
  Counter drop_tx_full;
  Counter drop_mtu;
  Counter drop_down;
  Counter drop_no_buffers;
};
static_assert(sizeof(PortCounters) == 64);

// A sequence lock with one writer that never waits.
class CommitSection {
 public:
  void Begin() {
    sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  void End() { sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  // Calls read() until nothing was committed meanwhile.
  template <typename Read>
  auto Consistently(Read read) const {
    for (;;) {
      const uint64_t before = sequence_.load(std::memory_order_acquire);
      const auto result = read();
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before) return result;
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<uint64_t> sequence_{0};
};

// What one worker counts of itself.
class WorkerCounters {
 public:
  // The worker only. also(): further counters that belong to the burst.
  template <typename Also>
  void Commit(const PacketTotals& burst, Also also) {
    commit_.Begin();
    forwarded_.Add(burst.forwarded);
    injected_.Add(burst.injected);
    malformed_.Add(burst.malformed);
    for (int i = 0; i < kDropReasonCount; ++i) drops_[i].Add(burst.drops[i]);
    received_.Add(burst.received);
    also();
    commit_.End();
  }

  PacketTotals Read() const {
    return commit_.Consistently([this] {
      PacketTotals totals;
      totals.received = received_.Get();
      totals.injected = injected_.Get();
      totals.forwarded = forwarded_.Get();
      totals.malformed = malformed_.Get();
      for (int i = 0; i < kDropReasonCount; ++i) totals.drops[i] = drops_[i].Get();
      return totals;
    });
  }

  Counter busy_cycles;
  Counter idle_cycles;
  Counter sleeps;
  Counter bursts;
  Counter flow_cache_hits;
  Counter flow_cache_misses;
  Counter flow_cache_evictions;
  Counter punted;
  Counter punts_lost;

 private:
  CommitSection commit_;
  Counter received_;
  Counter injected_;
  Counter forwarded_;
  Counter malformed_;
  Counter drops_[kDropReasonCount];
};

}  // namespace sluice
