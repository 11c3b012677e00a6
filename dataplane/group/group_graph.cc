#include "dataplane/group/group_graph.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice {
namespace {

// Depth first; what was seen is not walked again.
class Walk {
 public:
  explicit Walk(const FindGroupSpec& find) : find_(find) {}

  absl::Status Visit(uint32_t id, uint64_t& steps) {
    if (const auto known = steps_.find(id); known != steps_.end()) {
      steps = known->second.steps;
      return CheckDepth(known->second.depth + 1);
    }
    if (std::ranges::find(path_, id) != path_.end()) return Loop(id);
    path_.push_back(id);
    if (absl::Status status = CheckDepth(1); !status.ok()) return status;
    Measure measure{.steps = 0, .depth = 1};
    if (const GroupSpec* group = find_(id); group != nullptr) {
      if (absl::Status status = Sum(*group, measure); !status.ok()) return status;
    }
    if (measure.steps > kMaxGroupSteps) {
      return absl::FailedPreconditionError(absl::StrCat("group ", id, " would look at more than ", kMaxGroupSteps,
                                                        " buckets for one packet, with the groups it leads to"));
    }
    path_.pop_back();
    steps_[id] = measure;
    steps = measure.steps;
    return absl::OkStatus();
  }

 private:
  struct Measure {
    uint64_t steps;
    size_t depth;
  };

  absl::Status Sum(const GroupSpec& group, Measure& out) {
    for (const BucketSpec& bucket : group.buckets) {
      ++out.steps;
      for (const uint32_t other : ReferencesOf(bucket)) {
        uint64_t steps = 0;
        if (absl::Status status = Visit(other, steps); !status.ok()) return status;
        out.steps += steps;
        out.depth = std::max(out.depth, steps_[other].depth + 1);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckDepth(size_t below) const {
    if (path_.size() + below - 1 <= kMaxGroupDepth) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("group ", path_.front(), " would have more than ", kMaxGroupDepth,
                                                      " groups within one another: ", absl::StrJoin(path_, " -> "),
                                                      " -> ..."));
  }

  absl::Status Loop(uint32_t id) const {
    const auto from = std::ranges::find(path_, id);
    return absl::FailedPreconditionError(
        absl::StrCat("group ", id, " would lead to itself: ", absl::StrJoin(from, path_.end(), " -> "), " -> ", id));
  }

  const FindGroupSpec& find_;
  std::vector<uint32_t> path_;
  absl::flat_hash_map<uint32_t, Measure> steps_;
};

}  // namespace

std::vector<uint32_t> ReferencesOf(const BucketSpec& bucket) {
  std::vector<uint32_t> groups;
  for (const Action& action : bucket.actions) {
    if (action.type == ActionType::kGroup) groups.push_back(action.port);
  }
  if (bucket.watch_group != 0) groups.push_back(bucket.watch_group);
  return groups;
}

absl::Status CheckGroupGraph(uint32_t id, const FindGroupSpec& find) {
  uint64_t steps = 0;
  return Walk(find).Visit(id, steps);
}

}  // namespace sluice
