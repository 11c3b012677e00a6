// Settings, and what is only read: tables, masks, workers, totals.

#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/proto_time.h"

namespace sluice {
namespace {

uint32_t CheckEntries(uint32_t entries, uint32_t most, const Path& path, ViolationList& violations) {
  if (entries > most) {
    violations.Add(path, absl::StrCat(entries, " entries are too many: 1 to ", most, ", or 0 for none"));
  }
  return entries;
}

void EqualPriorityFromProto(v1::EqualPriority in, ViolationList& violations, EqualPriority& out) {
  switch (in) {
    case v1::EQUAL_PRIORITY_UNSPECIFIED:
      return;
    case v1::EQUAL_PRIORITY_OLDEST:
      out = EqualPriority::kOldest;
      return;
    case v1::EQUAL_PRIORITY_ANY:
      out = EqualPriority::kAny;
      return;
    default:
      break;
  }
  violations.Add(Path("equal_priority"), absl::StrCat("unknown choice ", static_cast<int>(in),
                                                      ": EQUAL_PRIORITY_OLDEST or EQUAL_PRIORITY_ANY"));
}

void ResortPeriodFromProto(const google::protobuf::Duration& in, ViolationList& violations, absl::Duration& out) {
  const bool is_duration = in.nanos() >= 0 && in.nanos() < 1'000'000'000;
  const bool in_range = in.seconds() >= 0 && in.seconds() < kMaxResortSeconds;
  if (is_duration && (in_range || (in.seconds() == kMaxResortSeconds && in.nanos() == 0))) {
    out = absl::Seconds(in.seconds()) + absl::Nanoseconds(in.nanos());
    return;
  }
  violations.Add(Path("resort_period"), absl::StrCat(in.seconds(), " s and ", in.nanos(), " ns are no period: up to ",
                                                     kMaxResortSeconds, " s, or 0 for never"));
}

}  // namespace

void SettingsFromProto(const v1::UpdateSettingsRequest& in, ViolationList& violations, Settings& out) {
  if (in.has_flow_cache_entries()) {
    out.flow_cache_entries =
        CheckEntries(in.flow_cache_entries(), kMaxFlowCacheEntries, Path("flow_cache_entries"), violations);
  }
  if (in.has_pruning()) out.classifier.pruning = in.pruning();
  EqualPriorityFromProto(in.equal_priority(), violations, out.classifier.equal_priority);
  if (in.has_mask_cache_entries()) {
    out.classifier.mask_cache_entries =
        CheckEntries(in.mask_cache_entries(), kMaxMaskCacheEntries, Path("mask_cache_entries"), violations);
  }
  if (in.has_resort_period()) ResortPeriodFromProto(in.resort_period(), violations, out.classifier.resort_period);
}

void SettingsToProto(const Settings& settings, v1::Settings* out) {
  const ClassifierOptions& classifier = settings.classifier;
  out->set_flow_cache_entries(settings.flow_cache_entries);
  out->set_pruning(classifier.pruning);
  out->set_equal_priority(classifier.equal_priority == EqualPriority::kAny ? v1::EQUAL_PRIORITY_ANY
                                                                           : v1::EQUAL_PRIORITY_OLDEST);
  out->set_mask_cache_entries(classifier.mask_cache_entries);
  DurationToProto(classifier.resort_period, out->mutable_resort_period());
}

void MissPolicyFromProto(v1::MissPolicy in, const Path& path, ViolationList& violations, MissPolicy& out) {
  if (in == v1::MISS_POLICY_DROP) {
    out = MissPolicy::kDrop;
  } else if (in == v1::MISS_POLICY_CONTINUE) {
    out = MissPolicy::kContinue;
  } else if (in == v1::MISS_POLICY_CONTROLLER) {
    out = MissPolicy::kController;
  } else {
    violations.Add(path, "give MISS_POLICY_DROP, MISS_POLICY_CONTINUE or MISS_POLICY_CONTROLLER");
  }
}

v1::MissPolicy MissPolicyToProto(MissPolicy policy) {
  if (policy == MissPolicy::kContinue) return v1::MISS_POLICY_CONTINUE;
  return policy == MissPolicy::kController ? v1::MISS_POLICY_CONTROLLER : v1::MISS_POLICY_DROP;
}

void TableToProto(const TableInfo& table, v1::Table* out) {
  out->set_id(table.id);
  out->set_miss_policy(MissPolicyToProto(table.miss_policy));
  out->set_flow_count(table.flow_count);
  out->set_mask_count(table.mask_count);
  out->set_lookups(table.lookups);
  out->set_matches(table.matches);
  out->set_masks_visited(table.masks_visited);
  out->set_mask_cache_hits(table.mask_cache_hits);
  out->set_pruned_lookups(table.pruned_lookups);
  out->set_indexed_masks(table.indexed_masks);
  out->set_index_bytes(table.index_bytes);
}

void MaskInfoToProto(const MaskInfo& mask, v1::Mask* out) {
  MaskToProto(mask.mask, out->mutable_fields());
  out->set_flow_count(mask.flow_count);
  out->set_max_priority(mask.max_priority);
  out->set_lookups(mask.lookups);
  out->set_hits(mask.hits);
}

void WorkerToProto(const WorkerInfo& worker, v1::Worker* out) {
  out->set_id(worker.id);
  out->set_cpu(worker.cpu);
  out->set_numa_node(worker.numa_node);
  out->set_rx_queues(worker.rx_queues);
  out->set_busy_cycles(worker.busy_cycles);
  out->set_idle_cycles(worker.idle_cycles);
  out->set_sleeps(worker.sleeps);
  out->set_flow_cache_hits(worker.flow_cache_hits);
  out->set_flow_cache_misses(worker.flow_cache_misses);
  out->set_flow_cache_evictions(worker.flow_cache_evictions);
}

void TotalsToProto(const PacketTotals& totals, v1::PacketTotals* out) {
  out->set_received(totals.received);
  out->set_injected(totals.injected);
  out->set_forwarded(totals.forwarded);
  for (int i = 0; i < kDropReasonCount; ++i) {
    (*out->mutable_drops())[DropReasonName(static_cast<DropReason>(i))] = totals.drops[i];
  }
  out->set_malformed(totals.malformed);
}

}  // namespace sluice
