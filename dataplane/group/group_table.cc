#include "dataplane/group/group_table.h"

#include <algorithm>
#include <latch>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/group/group_graph.h"
#include "dataplane/worker/action_set.h"
#include "dataplane/worker/reclaimer.h"

namespace sluice {
namespace {

absl::Status NoSuchGroup(uint32_t id) { return absl::NotFoundError(absl::StrCat("there is no group ", id)); }

ActionList InSetOrder(const ActionList& actions) {
  const auto set = std::make_unique<ActionSet>();
  set->Clear();
  for (const Action& action : actions) set->Add(action);
  ActionList ordered;
  for (const Action* action : set->InOrder()) ordered.push_back(*action);
  return ordered;
}

std::shared_ptr<PacketCounters> CountersOf(const Group* before, uint32_t bucket_id, unsigned workers) {
  if (before != nullptr) {
    const auto kept = std::ranges::find(before->buckets, bucket_id, &Group::Bucket::id);
    if (kept != before->buckets.end()) return kept->counters;
  }
  return std::make_shared<PacketCounters>(workers);
}

std::shared_ptr<const Group> Compile(const GroupSpec& spec, const Group* before, unsigned workers) {
  auto group = std::make_shared<Group>(
      Group{.type = spec.type,
            .hash = SelectHash(spec.hash_fields),
            .buckets = {},
            .counters = before != nullptr ? before->counters : std::make_shared<PacketCounters>(workers)});
  for (const BucketSpec& bucket : spec.buckets) {
    ActionList in_order = InSetOrder(bucket.actions);
    // The set's last action is its output or group, and the only one that changes nothing.
    const bool changes = in_order.size() > 1;
    group->buckets.push_back({.id = bucket.id,
                              .weight = bucket.weight,
                              .watch_port = bucket.watch_port,
                              .watch_group = bucket.watch_group,
                              .changes = changes,
                              .in_order = std::move(in_order),
                              .counters = CountersOf(before, bucket.id, workers)});
  }
  return group;
}

}  // namespace

GroupTable::GroupTable(unsigned workers, uint32_t max_groups, Reclaimer& reclaimer)
    : workers_(workers), max_groups_(max_groups), reclaimer_(reclaimer), published_(reclaimer) {}

// With the change made, of this group and of all groups, since others may lead to it.
absl::Status GroupTable::Check(const GroupSpec& spec) const {
  const FindGroupSpec find = [&](uint32_t id) -> const GroupSpec* {
    if (id == spec.id) return &spec;
    const auto at = groups_.find(id);
    return at == groups_.end() ? nullptr : &at->second.spec;
  };
  if (absl::Status status = CheckGroupGraph(spec.id, find); !status.ok()) return status;
  for (const auto& [id, entry] : groups_) {
    const bool leads_on = std::ranges::any_of(entry.spec.buckets, [](const BucketSpec& bucket) {
      return bucket.watch_group != 0 || std::ranges::any_of(bucket.actions, [](const Action& action) {
               return action.type == ActionType::kGroup;
             });
    });
    if (!leads_on) continue;
    if (absl::Status status = CheckGroupGraph(id, find); !status.ok()) return status;
  }
  return absl::OkStatus();
}

GroupInfo GroupTable::Put(const GroupSpec& spec) {
  Entry& entry = groups_[spec.id];
  entry.spec = spec;
  entry.group = Compile(spec, entry.group.get(), workers_);
  published_.Set(spec.id, entry.group);
  return InfoOf(entry);
}

absl::StatusOr<GroupInfo> GroupTable::Create(const GroupSpec& spec) {
  const std::lock_guard lock(mutex_);
  if (groups_.contains(spec.id))
    return absl::AlreadyExistsError(absl::StrCat("there is a group ", spec.id, " already"));
  if (groups_.size() >= max_groups_) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", max_groups_, " groups already (limits.groups)"));
  }
  if (absl::Status status = Check(spec); !status.ok()) return status;
  return Put(spec);
}

absl::StatusOr<GroupInfo> GroupTable::Update(const GroupSpec& spec, bool may_create) {
  {
    const std::lock_guard lock(mutex_);
    if (groups_.contains(spec.id)) {
      if (absl::Status status = Check(spec); !status.ok()) return status;
      return Put(spec);
    }
  }
  return may_create ? Create(spec) : NoSuchGroup(spec.id);
}

absl::StatusOr<GroupInfo> GroupTable::Delete(uint32_t id) {
  Entry entry;
  const auto unused = std::make_shared<std::latch>(1);
  {
    const std::lock_guard lock(mutex_);
    const auto at = groups_.find(id);
    if (at == groups_.end()) return NoSuchGroup(id);
    entry = std::move(at->second);
    groups_.erase(at);
    published_.Set(id, nullptr);
    reclaimer_.AfterGrace([unused] { unused->count_down(); });
  }
  unused->wait();
  return InfoOf(entry);
}

absl::StatusOr<GroupInfo> GroupTable::Get(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const auto at = groups_.find(id);
  if (at == groups_.end()) return NoSuchGroup(id);
  return InfoOf(at->second);
}

std::vector<GroupInfo> GroupTable::List(uint32_t after, size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<GroupInfo> infos;
  for (auto at = groups_.upper_bound(after); at != groups_.end() && infos.size() < most; ++at) {
    infos.push_back(InfoOf(at->second));
  }
  return infos;
}

size_t GroupTable::size() const {
  const std::lock_guard lock(mutex_);
  return groups_.size();
}

GroupInfo GroupTable::InfoOf(const Entry& entry) {
  GroupInfo info{.spec = entry.spec, .count = entry.group->counters->Read(), .bucket_counts = {}};
  for (const Group::Bucket& bucket : entry.group->buckets) info.bucket_counts.push_back(bucket.counters->Read());
  return info;
}

}  // namespace sluice
