// Groups and meters, of the executor.

#include <limits>
#include <utility>

#include "dataplane/group/group.h"
#include "dataplane/meter/meter.h"
#include "dataplane/packet/field.h"
#include "dataplane/port/buffers.h"
#include "dataplane/worker/clock.h"
#include "dataplane/worker/execute.h"

namespace sluice {
namespace {

bool IsPortLive(const Snapshot& snapshot, uint32_t number) {
  const uint8_t port = snapshot.IndexOf(number);
  return port != Snapshot::kNoPort && snapshot.ports[port].enabled &&
         snapshot.ports[port].attached->link_up.load(std::memory_order_relaxed);
}

}  // namespace

// Groups never lead to themselves (group_graph.h).
bool Executor::IsLive(const Snapshot& snapshot, const Group::Bucket& bucket) const {
  if (bucket.watch_port == 0 && bucket.watch_group == 0) return true;
  if (bucket.watch_port != 0 && IsPortLive(snapshot, bucket.watch_port)) return true;
  const Group* watched = bucket.watch_group != 0 ? tables_.groups.Find(bucket.watch_group) : nullptr;
  if (watched == nullptr) return false;
  for (const Group::Bucket& other : watched->buckets) {
    if (IsLive(snapshot, other)) return true;
  }
  return false;
}

const Group::Bucket* Executor::Choose(PacketInHand& packet, const Group& group) {
  const Group::Bucket* best = nullptr;
  float best_draw = std::numeric_limits<float>::infinity();
  uint64_t hash = 0;
  if (group.type == GroupType::kSelect) {
    Refresh(packet);
    hash = group.hash.Of(packet.key);
  }
  for (const Group::Bucket& bucket : group.buckets) {
    if (group.type == GroupType::kIndirect) return &bucket;
    if (!IsLive(packet.snapshot, bucket)) continue;
    if (group.type == GroupType::kFailover) return &bucket;
    if (bucket.weight == 0) continue;
    const float draw = DrawOf(hash, bucket.id, bucket.weight);
    if (best != nullptr && draw >= best_draw) continue;
    best = &bucket;
    best_draw = draw;
  }
  return best;
}

void Executor::RunGroup(PacketInHand& packet, uint32_t id, bool last) {
  const Group* group = tables_.groups.Find(id);
  if (group == nullptr) return packet.NotSent(DropReason::kNoSuchGroup);
  if (!rehearses_) group->counters->Count(worker_, packet.bytes);
  if (group->type != GroupType::kAll) {
    const Group::Bucket* bucket = Choose(packet, *group);
    if (bucket == nullptr) return packet.NotSent(DropReason::kNoLiveBucket);
    return RunBucket(packet, *bucket, last);
  }
  for (size_t i = 0; i < group->buckets.size(); ++i) {
    RunBucket(packet, group->buckets[i], last && i + 1 == group->buckets.size());
  }
}

// What a bucket does to the packet nobody else sees.
void Executor::RunBucket(PacketInHand& packet, const Group::Bucket& bucket, bool last) {
  if (!rehearses_) bucket.counters->Count(worker_, packet.bytes);
  if (!bucket.changes || last) return RunInOrder(packet, bucket.in_order, last);
  rte_mbuf* mbuf = CopyBuffer(packet.mbuf, pool_);
  if (mbuf == nullptr) return packet.NotSent(DropReason::kNoBuffers);
  PacketKey key = packet.key;
  PacketInHand copy{.snapshot = packet.snapshot,
                    .ingress = packet.ingress,
                    .mbuf = mbuf,
                    .layout = packet.layout,
                    .key = key,
                    .bytes = packet.bytes,
                    .table_id = packet.table_id,
                    .entry = packet.entry,
                    .rewritten = packet.rewritten};
  RunInOrder(copy, bucket.in_order, true);
  if (copy.mbuf != nullptr) FreeBuffer(copy.mbuf);
  packet.forwarded |= copy.forwarded;
  if (copy.has_cause) packet.NotSent(copy.cause);
}

void Executor::RunInOrder(PacketInHand& packet, const ActionList& actions, bool last) {
  const PuntReason outside = std::exchange(packet.punt_reason, PuntReason::kGroup);
  for (size_t at = 0; at < actions.size() && !packet.ended; ++at) {
    Do(packet, actions[at], last && at + 1 == actions.size());
  }
  packet.punt_reason = outside;
}

void Executor::Police(PacketInHand& packet, uint32_t id) {
  const Meter* meter = tables_.meters.Find(id);
  if (meter == nullptr || rehearses_) return;
  const uint64_t now = clock_.Nanoseconds(WorkerClock::Cycles());
  const Meter::Verdict verdict = meter->Admit(worker_, now, packet.mbuf->pkt_len);
  if (verdict.drop) return packet.Lose(DropReason::kMeter);
  if (verdict.raise == 0) return;
  Refresh(packet);
  if ((packet.key.present & kPresentIp) == 0) return;
  const auto dscp = static_cast<uint8_t>(GetField(packet.key, Field::kIpDscp));
  Set(packet, Field::kIpDscp, RaiseDropPrecedence(dscp, verdict.raise), absl::Uint128Max());
}

}  // namespace sluice
