// Statistics of a burst, gathered so that each flow is counted once.
//
// A table of 128 places finds a flow's sum by its address; packets stay in their
// order. A burst that hits more flows than there is room for, on a long way
// through many tables, counts some of them more than once.
//
// Workers only.

#pragma once

#include <array>
#include <cstdint>

#include "dataplane/classifier/classifier.h"
#include "dataplane/worker/clock.h"

namespace sluice {

class FlowHits {
 public:
  void Add(const ClassifierEntry* entry, uint32_t packets, uint64_t bytes) {
    Sum& sum = SumOf(entry);
    sum.packets += packets;
    sum.bytes += bytes;
  }
  // No room for another flow.
  bool Full() const { return used_ == kSums; }

  // Calls count(entry, packets, bytes) for each flow and starts anew.
  template <typename Count>
  void Flush(Count count) {
    for (unsigned i = 0; i < used_; ++i) count(*sums_[i].entry, sums_[i].packets, sums_[i].bytes);
    used_ = 0;
    places_.fill(0);
  }

 private:
  static constexpr unsigned kSums = 2 * kBatch;

  struct Sum {
    const ClassifierEntry* entry;
    uint32_t packets;
    uint64_t bytes;
  };

  Sum& SumOf(const ClassifierEntry* entry) {
    // The multiplier spreads addresses, whose low bits are all alike.
    uint32_t at = static_cast<uint32_t>((reinterpret_cast<uintptr_t>(entry) * 0x9e3779b97f4a7c15u) >> 57);
    while (places_[at] != 0) {
      Sum& sum = sums_[places_[at] - 1];
      if (sum.entry == entry) return sum;
      at = (at + 1) % places_.size();
    }
    sums_[used_] = {entry, 0, 0};
    places_[at] = static_cast<uint8_t>(++used_);
    return sums_[used_ - 1];
  }

  unsigned used_ = 0;
  std::array<uint8_t, 2 * kSums> places_{};  // 0: free; else index into sums_, plus one
  std::array<Sum, kSums> sums_;
};

// The same for one worker, into the flows' counters.
class FlowCounting {
 public:
  // clock outlives it.
  FlowCounting(unsigned worker, WorkerClock& clock) : worker_(worker), clock_(clock) {}

  void Add(const ClassifierEntry* entry, uint32_t packets, uint64_t bytes) {
    if (hits_.Full()) [[unlikely]]
      Flush();
    hits_.Add(entry, packets, bytes);
  }
  void Flush() {
    const int64_t now = clock_.UnixNanoseconds(WorkerClock::Cycles());
    hits_.Flush([&](const ClassifierEntry& entry, uint64_t packets, uint64_t bytes) {
      entry.Count(worker_, packets, bytes, now);
    });
  }

 private:
  const unsigned worker_;
  WorkerClock& clock_;
  FlowHits hits_;
};

}  // namespace sluice
