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
  executor_.Begin();
  Walk(view, packet);
  End(packet, burst);
}

// A list that a controller sends goes to table 0, too, which no flow can.
Pipeline::Fate Pipeline::Inject(const Snapshot& snapshot, const TableView& view, uint8_t ingress,
                                std::span<const Action> list, Burst& burst, unsigned i) {
  PacketInHand packet{.snapshot = snapshot,
                      .ingress = ingress,
                      .mbuf = burst.mbufs[i],
                      .layout = burst.layouts[i],
                      .key = burst.keys[i],
                      .bytes = burst.bytes[i],
                      .entry = nullptr,
                      .punt_reason = PuntReason::kPacketOut};
  executor_.Begin();
  const uint8_t next = executor_.Carry(packet, list);
  const bool to_table = !packet.ended && !list.empty() && list.back().type == ActionType::kGotoTable;
  if (to_table) {
    packet.punt_reason = PuntReason::kAction;
    Enter(view, next, packet);
    Walk(view, packet);
  } else {
    executor_.CarrySet(packet);
  }
  End(packet, burst);
  return {packet.forwarded, packet.cause};
}

void Pipeline::End(PacketInHand& packet, Burst& burst) {
  if (packet.noted) ClearPipelineFields(packet.key);
  if (!packet.forwarded) return burst.Drop(packet.mbuf, packet.cause);
  if (packet.mbuf != nullptr) FreeBuffer(packet.mbuf);
  ++burst.totals.forwarded;
}

void Pipeline::Walk(const TableView& view, PacketInHand& packet) {
  for (;;) {
    const uint8_t next =
        packet.entry != nullptr ? executor_.Carry(packet, ActionsOf(*packet.entry)) : AfterMiss(packet);
    if (packet.ended || next == 0) break;
    Enter(view, next, packet);
  }
  executor_.CarrySet(packet);
}

void Pipeline::Enter(const TableView& view, uint8_t table_id, PacketInHand& packet) {
  packet.table_id = table_id;
  executor_.Refresh(packet);
  lookup_.Find(view, table_id, &packet.key, 1, &packet.entry);
  if (packet.entry == nullptr) return;
  hits_.Add(packet.entry, 1, packet.bytes);
  if (tap_.on()) [[unlikely]]
    tap_.Match(*packet.entry, packet.mbuf, packet.key);
}

// The table to go on in; 0: none.
uint8_t Pipeline::AfterMiss(PacketInHand& packet) {
  return executor_.Miss(packet, classifier_.miss_policy(packet.table_id));
}

}  // namespace sluice
