// How a table's masks are searched. Value types; any thread.

#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace sluice {

// Which of several flows of the highest priority that match wins.
enum class EqualPriority : uint8_t {
  kOldest,  // the one that was added first
  kAny,     // the one whose mask is used most: for flows of equal priority that are disjoint
};

inline constexpr uint32_t kMaxMaskCacheEntries = 1 << 20;

struct ClassifierOptions {
  bool pruning = true;
  EqualPriority equal_priority = EqualPriority::kOldest;
  uint32_t mask_cache_entries = 0;                  // a worker; 0: off; rounded up to a power of two
  absl::Duration resort_period = absl::Seconds(4);  // of masks by use; 0: only on demand
  uint32_t pruned_from = 12;                        // masks; with fewer all are tried, cheaper if the first is hit most

  bool operator==(const ClassifierOptions&) const = default;
};

}  // namespace sluice
