#include "dataplane/worker/clock.h"

#include <rte_cycles.h>

#include <ctime>

namespace sluice {

WorkerClock::WorkerClock()
    : ns_per_cycle_((uint64_t{1'000'000'000} << 32) / rte_get_tsc_hz()), resync_cycles_(rte_get_tsc_hz()) {
  Resync(Cycles());
}

uint64_t WorkerClock::Cycles() { return rte_rdtsc(); }

void WorkerClock::Resync(uint64_t cycles) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  base_unix_ns_ = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  base_cycles_ = cycles;
}

}  // namespace sluice
