// What groups refer to, and whether a change would let packets run in a circle
// or further than is sane.
//
// Pure; any thread.

#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "dataplane/group/group.h"

namespace sluice {

// Groups within groups, and buckets that all of them together may have looked at
// for one packet: whatever lies beyond is a mistake, and would hold up the worker.
inline constexpr unsigned kMaxGroupDepth = 16;
inline constexpr uint64_t kMaxGroupSteps = 4096;

using FindGroupSpec = std::function<const GroupSpec*(uint32_t id)>;

// The groups that a bucket outputs to or watches. Those that do not exist count.
std::vector<uint32_t> ReferencesOf(const BucketSpec& bucket);

// Of a group and all it leads to. FAILED_PRECONDITION names the loop, or says that it is too deep or too wide.
absl::Status CheckGroupGraph(uint32_t id, const FindGroupSpec& find);

}  // namespace sluice
