// Groups: what controllers write, what workers carry out, what was counted.
//
// A bucket's actions are an action set, as in OpenFlow: they are carried out in
// the set's order, whatever order they were written in, and without an output or
// a group they do nothing; the packet is then dropped as by a flow without
// actions.
//
// Value types; any thread.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/flow/action.h"
#include "dataplane/flow/packet_counters.h"
#include "dataplane/group/select.h"

namespace sluice {

inline constexpr uint32_t kMaxGroupId = 0xffffff00;

enum class GroupType : uint8_t {
  kAll,       // a copy to each bucket
  kSelect,    // one of the live buckets, by the packet's hash and the buckets' weights
  kIndirect,  // the one bucket
  kFailover,  // the first live bucket
};

struct BucketSpec {
  uint32_t id = 0;      // unique in the group; what selection and counters go by
  uint32_t weight = 1;  // kSelect; 0: never chosen
  // Live if one of these is; without both always. A port is if it exists, is enabled
  // and has a link, a group if one of its buckets is. 0: none.
  uint32_t watch_port = 0;
  uint32_t watch_group = 0;
  ActionList actions;

  friend bool operator==(const BucketSpec&, const BucketSpec&) = default;
};

struct GroupSpec {
  uint32_t id = 0;
  GroupType type = GroupType::kAll;
  std::vector<Field> hash_fields;  // kSelect; none: SelectHash's default
  std::vector<BucketSpec> buckets;

  friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

struct GroupInfo {
  GroupSpec spec;
  PacketCount count;
  std::vector<PacketCount> bucket_counts;  // in the order of the buckets
};

// As workers carry it out; immutable.
struct Group {
  struct Bucket {
    uint32_t id;
    uint32_t weight;
    uint32_t watch_port;
    uint32_t watch_group;
    bool changes;         // the packet, and so needs a copy of it
    ActionList in_order;  // the action set's order
    std::shared_ptr<PacketCounters> counters;
  };

  GroupType type;
  SelectHash hash;
  std::vector<Bucket> buckets;
  std::shared_ptr<PacketCounters> counters;
};

}  // namespace sluice
