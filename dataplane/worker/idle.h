// How long a worker with nothing to do may sleep.
//
// After the last packet it goes on polling for a while, since the next is most
// likely near. Then it sleeps for half the time that it has been idle so far, at
// most 100 us: what a packet waits for stays in proportion to the pause before
// it. Devices that can wake the worker let it sleep longer (sleeper.h). A pure
// function of the time that it is given.

#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

class IdleBackoff {
 public:
  static constexpr uint64_t kPollNs = 20'000;
  static constexpr uint64_t kMaxSleepNs = 100'000;

  // There were packets at `now_ns`.
  void Busy(uint64_t now_ns) { last_busy_ns_ = now_ns; }

  // There were none. 0: poll again at once.
  uint64_t SleepNs(uint64_t now_ns) const {
    const uint64_t idle_ns = now_ns - last_busy_ns_;
    return idle_ns < kPollNs ? 0 : std::min(idle_ns / 2, kMaxSleepNs);
  }

 private:
  uint64_t last_busy_ns_ = 0;
};

}  // namespace sluice
