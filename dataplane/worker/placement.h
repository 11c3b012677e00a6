// Which CPU runs what.
//
// Workers poll, so each gets a CPU of its own as long as there are enough; all
// other threads stay off these CPUs as long as any is left for them. CPU numbers
// are whatever the kernel allows this process: they need not start at 0, be
// dense, or have anything to do with DPDK's lcore ids.
//
// PlaceWorkers is pure; the rest asks or tells the kernel. Any thread.

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice {

inline constexpr unsigned kMaxWorkers = 64;

struct Placement {
  unsigned main_cpu = 0;               // for EAL's main lcore
  std::vector<unsigned> worker_cpus;   // by worker; a CPU repeats where there are too few
  std::vector<unsigned> control_cpus;  // for every thread that is no worker
};

// wanted: CPUs to use, one a worker; if empty, `count` of the allowed ones are
// chosen. INVALID_ARGUMENT lists the allowed CPUs.
absl::StatusOr<Placement> PlaceWorkers(const std::vector<unsigned>& allowed, const std::vector<unsigned>& wanted,
                                       unsigned count);

// The CPUs that the kernel lets this thread run on, ascending.
absl::StatusOr<std::vector<unsigned>> AllowedCpus();

// The calling thread.
absl::Status PinThisThread(const std::vector<unsigned>& cpus);

// Every thread that the process has now. Threads inherit it from their creator.
absl::Status PinAllThreads(const std::vector<unsigned>& cpus);

// -1: unknown.
int NumaNodeOf(unsigned cpu);

}  // namespace sluice
