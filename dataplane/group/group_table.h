// All groups: the one place where they change.
//
// A change is checked as a whole (no loops: group_graph.h) and then shown to the
// workers by one store; a packet is carried out by the group as it was or as it
// is. No worker is waited for but by Delete, and no flow cache is touched: a flow
// names a group by its number, which is looked up for each packet. Groups that a
// flow or a bucket names need not exist yet: meanwhile packets are not sent.
//
// Counters stay with the group and, through Update, with the buckets whose ids
// stay.
//
// Any control thread; a mutex stands among them.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/flow/published_map.h"
#include "dataplane/group/group.h"

namespace sluice {

class Reclaimer;

class GroupTable {
 public:
  // The reclaimer outlives the table.
  GroupTable(unsigned workers, uint32_t max_groups, Reclaimer& reclaimer);

  // ALREADY_EXISTS; RESOURCE_EXHAUSTED beyond max_groups; FAILED_PRECONDITION for
  // what CheckGroupGraph refuses, of this group or of one that leads to it.
  absl::StatusOr<GroupInfo> Create(const GroupSpec& spec);
  // Replaces type, fields and buckets. NOT_FOUND, unless may_create; else as Create.
  absl::StatusOr<GroupInfo> Update(const GroupSpec& spec, bool may_create);
  // Waits until no worker uses it: the final counters. NOT_FOUND.
  absl::StatusOr<GroupInfo> Delete(uint32_t id);
  absl::StatusOr<GroupInfo> Get(uint32_t id) const;
  // Those with a higher id than `after`, ascending, at most so many.
  std::vector<GroupInfo> List(uint32_t after, size_t most) const;
  size_t size() const;
  uint32_t max_groups() const { return max_groups_; }

  // For workers.
  const PublishedMap<Group>& published() const { return published_; }

 private:
  struct Entry {
    GroupSpec spec;
    std::shared_ptr<const Group> group;
  };

  absl::Status Check(const GroupSpec& spec) const;
  GroupInfo Put(const GroupSpec& spec);
  static GroupInfo InfoOf(const Entry& entry);

  const unsigned workers_;
  const uint32_t max_groups_;
  Reclaimer& reclaimer_;
  mutable std::mutex mutex_;          // guards what follows, and publishing
  std::map<uint32_t, Entry> groups_;  // by id
  PublishedMap<Group> published_;
};

}  // namespace sluice
