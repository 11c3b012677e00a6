// Time for a worker, from the time stamp counter: no call into the kernel.
//
// Wall time is set right about once a second, by the one clock_gettime that a
// worker makes outside its sleeps. One a worker, used by that worker only.

#pragma once

#include <cstdint>

namespace sluice {

class WorkerClock {
 public:
  WorkerClock();

  static uint64_t Cycles();

  // Nanoseconds since some instant.
  uint64_t Nanoseconds(uint64_t cycles) const {
    return static_cast<uint64_t>((static_cast<Wide>(cycles) * ns_per_cycle_) >> 32);
  }
  // The same in whole seconds.
  uint32_t Seconds(uint64_t cycles) const { return static_cast<uint32_t>(Nanoseconds(cycles) / 1'000'000'000); }
  // Nanoseconds since 1970.
  int64_t UnixNanoseconds(uint64_t cycles) {
    if (cycles - base_cycles_ > resync_cycles_) Resync(cycles);
    return base_unix_ns_ + static_cast<int64_t>(Nanoseconds(cycles - base_cycles_));
  }

 private:
  __extension__ using Wide = unsigned __int128;

  void Resync(uint64_t cycles);

  const uint64_t ns_per_cycle_;  // scaled by 2^32
  const uint64_t resync_cycles_;
  uint64_t base_cycles_ = 0;
  int64_t base_unix_ns_ = 0;
};

}  // namespace sluice
