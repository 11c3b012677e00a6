#include "dataplane/worker/pipeline.h"

#include "dataplane/port/buffers.h"

namespace sluice {

void Pipeline::Run(const Snapshot& snapshot, const TableView& view, uint8_t ingress, Burst& burst, unsigned i) {
  PacketInHand packet{.snapshot = snapshot,
                      .ingress = ingress,
                      .mbuf = burst.mbufs[i],
                      .layout = burst.layouts[i],
                      .key = burst.keys[i],
                      .bytes = burst.bytes[i],
                      .entry = burst.entries[i]};
  Walk(view, packet);
  if (packet.noted) ClearPipelineFields(packet.key);
  if (packet.mbuf != nullptr) FreeBuffer(packet.mbuf);
  if (packet.forwarded) {
    ++burst.totals.forwarded;
  } else {
    ++burst.totals.drops[static_cast<int>(packet.cause)];
  }
}

void Pipeline::Walk(const TableView& view, PacketInHand& packet) {
  executor_.Begin();
  for (;;) {
    const uint8_t next =
        packet.entry != nullptr ? executor_.Carry(packet, ActionsOf(*packet.entry)) : AfterMiss(packet);
    if (packet.ended || next == 0) break;
    packet.table_id = next;
    executor_.Refresh(packet);
    lookup_.Find(view, next, &packet.key, 1, &packet.entry);
    if (packet.entry != nullptr) hits_.Add(packet.entry, 1, packet.bytes);
  }
  executor_.CarrySet(packet);
}

// The table to go on in; 0: none.
uint8_t Pipeline::AfterMiss(PacketInHand& packet) const {
  constexpr uint8_t kLastTable = 254;
  if (classifier_.miss_policy(packet.table_id) == MissPolicy::kContinue && packet.table_id < kLastTable) {
    return packet.table_id + 1;
  }
  packet.NotSent(DropReason::kNoFlow);
  return 0;
}

}  // namespace sluice
