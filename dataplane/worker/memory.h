// How much memory the dataplane asks EAL for, and whether it is there.
//
// EAL's own message for too little memory names neither, so this is found out
// before EAL is asked. PoolBytes and PlanMemory are pure; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"

namespace sluice {

struct HugePagesFree {
  uint64_t page_bytes = 0;
  uint64_t pages = 0;
};

struct MemoryAvailable {
  uint64_t plain_bytes = 0;  // what the kernel calls available, less if a control group allows less
  std::vector<HugePagesFree> huge;
};

struct MemoryPlan {
  bool huge_pages = false;
  uint64_t megabytes = 0;  // for EAL; 0: EAL takes huge pages as it needs them
};

// Bytes that the packet pool takes.
uint64_t PoolBytes(const DataplaneConfig& config);

// RESOURCE_EXHAUSTED says what is needed and what there is.
absl::StatusOr<MemoryPlan> PlanMemory(const DataplaneConfig& config, const MemoryAvailable& available);

// Reads /proc and /sys.
MemoryAvailable ReadMemory();

}  // namespace sluice
