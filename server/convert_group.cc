// Groups.

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "server/convert.h"

namespace sluice {
namespace {

constexpr uint32_t kMaxWeight = 65535;

bool GroupTypeFromProto(v1::GroupType in, GroupType& out) {
  switch (in) {
    case v1::GROUP_TYPE_ALL:
      out = GroupType::kAll;
      return true;
    case v1::GROUP_TYPE_SELECT:
      out = GroupType::kSelect;
      return true;
    case v1::GROUP_TYPE_INDIRECT:
      out = GroupType::kIndirect;
      return true;
    case v1::GROUP_TYPE_FAST_FAILOVER:
      out = GroupType::kFailover;
      return true;
    default:
      return false;
  }
}

v1::GroupType GroupTypeToProto(GroupType type) {
  switch (type) {
    case GroupType::kAll:
      return v1::GROUP_TYPE_ALL;
    case GroupType::kSelect:
      return v1::GROUP_TYPE_SELECT;
    case GroupType::kIndirect:
      return v1::GROUP_TYPE_INDIRECT;
    case GroupType::kFailover:
      return v1::GROUP_TYPE_FAST_FAILOVER;
  }
  return v1::GROUP_TYPE_UNSPECIFIED;
}

void WatchFromProto(const v1::Bucket& in, const Path& path, ViolationList& violations, BucketSpec& out) {
  if (in.watch_port() > kMaxPortNumber) {
    violations.Add(Path(path, "watch_port"),
                   absl::StrCat(in.watch_port(), " is no port's number: 1 to ", kMaxPortNumber, ", or 0 for none"));
  }
  if (in.watch_group() > kMaxGroupId) {
    violations.Add(Path(path, "watch_group"),
                   absl::StrCat(in.watch_group(), " is no group's id: 1 to ", kMaxGroupId, ", or 0 for none"));
  }
  out.watch_port = in.watch_port();
  out.watch_group = in.watch_group();
}

void BucketFromProto(const v1::Bucket& in, uint32_t place, GroupType type, const ApiLimits& limits, const Path& path,
                     ViolationList& violations, BucketSpec& out) {
  out.id = in.has_bucket_id() ? in.bucket_id() : place;
  if (out.id > kMaxGroupId) {
    violations.Add(Path(path, "bucket_id"), absl::StrCat(out.id, " is no bucket's id: 0 to ", kMaxGroupId));
  }
  if (in.has_weight() && type != GroupType::kSelect) {
    violations.Add(Path(path, "weight"), "only buckets of a select group have a weight; leave it out");
  } else if (in.weight() > kMaxWeight) {
    violations.Add(Path(path, "weight"), absl::StrCat(in.weight(), " is too much: 0 to ", kMaxWeight));
  }
  out.weight = in.has_weight() ? in.weight() : 1;
  WatchFromProto(in, path, violations, out);
  ActionSetFromProto(in.actions(), limits.actions_per_flow, path, violations, out.actions);
}

void BucketsFromProto(const v1::GroupSpec& in, const ApiLimits& limits, const Path& path, ViolationList& violations,
                      GroupSpec& out) {
  const auto count = static_cast<size_t>(in.buckets_size());
  if (count > limits.buckets_per_group) {
    violations.Add(Path(path, "buckets"),
                   absl::StrCat(count, " buckets; at most ", limits.buckets_per_group, " (limits.buckets_per_group)"),
                   ViolationList::Kind::kLimit);
    return;
  }
  if (out.type == GroupType::kIndirect && count != 1) {
    violations.Add(Path(path, "buckets"), absl::StrCat(count, " buckets; an indirect group has exactly one"));
  }
  std::set<uint32_t> ids;
  for (int i = 0; i < in.buckets_size(); ++i) {
    const Path at(path, "buckets", i);
    BucketSpec& bucket = out.buckets.emplace_back();
    BucketFromProto(in.buckets(i), static_cast<uint32_t>(i), out.type, limits, at, violations, bucket);
    if (!ids.insert(bucket.id).second) {
      violations.Add(Path(at, "bucket_id"), absl::StrCat(bucket.id, " is another bucket's id; give each its own"));
    }
  }
}

void HashFieldsFromProto(const v1::GroupSpec& in, const Path& path, ViolationList& violations, GroupSpec& out) {
  for (int i = 0; i < in.hash_fields_size(); ++i) {
    const FieldInfo* info = FindField(in.hash_fields(i));
    if (info == nullptr || info->name.empty()) {
      violations.Add(Path(path, "hash_fields", i),
                     absl::StrCat("there is no field with number ", static_cast<int>(in.hash_fields(i)),
                                  "; GetCapabilities lists the fields"));
      continue;
    }
    if (std::ranges::find(out.hash_fields, info->field) != out.hash_fields.end()) {
      violations.Add(Path(path, "hash_fields", i), absl::StrCat("a second ", info->name, "; name each field once"));
      return;
    }
    out.hash_fields.push_back(info->field);
  }
  if (in.hash_fields_size() > 0 && out.type != GroupType::kSelect) {
    violations.Add(Path(path, "hash_fields"), "only a select group has fields that choose; leave them out");
  }
}

void GroupStatsToProto(const PacketCount& count, v1::GroupStats* out) {
  out->set_packets(count.packets);
  out->set_bytes(count.bytes);
}

}  // namespace

void GroupIdFromProto(uint32_t id, const Path& path, ViolationList& violations) {
  if (id == 0 || id > kMaxGroupId) violations.Add(path, absl::StrCat(id, " is no group's id: 1 to ", kMaxGroupId));
}

void GroupSpecFromProto(const v1::GroupSpec& in, const ApiLimits& limits, const Path& path, ViolationList& violations,
                        GroupSpec& out) {
  GroupIdFromProto(in.group_id(), Path(path, "group_id"), violations);
  out.id = in.group_id();
  if (!GroupTypeFromProto(in.type(), out.type)) {
    violations.Add(Path(path, "type"),
                   "no type: GROUP_TYPE_ALL, GROUP_TYPE_SELECT, GROUP_TYPE_INDIRECT or GROUP_TYPE_FAST_FAILOVER");
    return;
  }
  BucketsFromProto(in, limits, path, violations, out);
  HashFieldsFromProto(in, path, violations, out);
}

void GroupToProto(const GroupInfo& group, v1::Group* out) {
  v1::GroupSpec* spec = out->mutable_spec();
  spec->set_group_id(group.spec.id);
  spec->set_type(GroupTypeToProto(group.spec.type));
  for (const Field field : group.spec.hash_fields) spec->add_hash_fields(Fields()[static_cast<size_t>(field)].number);
  for (const BucketSpec& bucket : group.spec.buckets) {
    v1::Bucket* to = spec->add_buckets();
    to->set_bucket_id(bucket.id);
    if (group.spec.type == GroupType::kSelect) to->set_weight(bucket.weight);
    to->set_watch_port(bucket.watch_port);
    to->set_watch_group(bucket.watch_group);
    ActionsToProto(bucket.actions, to->mutable_actions());
  }
  GroupStatsToProto(group.count, out->mutable_stats());
  for (const PacketCount& count : group.bucket_counts) GroupStatsToProto(count, out->add_bucket_stats());
}

}  // namespace sluice
