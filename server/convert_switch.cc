// What is only read: tables, masks, workers, totals.

#include "server/convert.h"

namespace sluice {

void TableToProto(const TableInfo& table, v1::Table* out) {
  out->set_id(table.id);
  out->set_flow_count(table.flow_count);
  out->set_mask_count(table.mask_count);
  out->set_lookups(table.lookups);
  out->set_matches(table.matches);
  out->set_masks_visited(table.masks_visited);
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
}

void TotalsToProto(const PacketTotals& totals, v1::PacketTotals* out) {
  out->set_received(totals.received);
  out->set_forwarded(totals.forwarded);
  for (int i = 0; i < kDropReasonCount; ++i) {
    (*out->mutable_drops())[DropReasonName(static_cast<DropReason>(i))] = totals.drops[i];
  }
  out->set_malformed(totals.malformed);
}

}  // namespace sluice
