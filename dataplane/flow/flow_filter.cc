#include "dataplane/flow/flow_filter.h"

#include <algorithm>
#include <span>

#include "dataplane/classifier/entry.h"
#include "dataplane/classifier/subtable.h"
#include "dataplane/classifier/table.h"

namespace sluice {
namespace {

// IsWithin, without unpacking: false for most flows after one word.
bool MaskMayBeWithin(const PacketKey& narrow, const PacketKey& wide) {
  PacketKey looked_at = LookedAt(narrow);
  looked_at.present |= kRanged;  // of wide: where narrow has bits
  for (size_t i = 0; i < kKeyWords; ++i) {
    if ((WordOf(wide, i) & ~WordOf(looked_at, i)) != 0) return false;
  }
  return true;
}

bool OutputsTo(std::span<const Action> actions, uint32_t port) {
  return std::ranges::any_of(
      actions, [port](const Action& action) { return action.type == ActionType::kOutput && action.port == port; });
}

}  // namespace

bool Selects(const FlowFilter& filter, const Flow& flow) {
  const Subtable& subtable = *flow.subtable;
  const ClassifierEntry& entry = *flow.entry;
  if (((flow.cookie ^ filter.cookie) & filter.cookie_mask) != 0) return false;
  if (filter.table_id.has_value() && *filter.table_id != subtable.standing.table.id()) return false;
  if (filter.priority.has_value() && *filter.priority != PriorityOf(entry.rank)) return false;
  if (!MaskMayBeWithin(subtable.mask(), filter.match.mask)) return false;
  if (!IsWithin(subtable.Unpack(entry.words()), filter.match)) return false;
  return !filter.out_port.has_value() || OutputsTo(entry.actions->actions(), *filter.out_port);
}

bool Selects(const FlowFilter& filter, const FlowSpec& spec) {
  return ((spec.cookie ^ filter.cookie) & filter.cookie_mask) == 0 &&
         filter.table_id.value_or(spec.table_id) == spec.table_id &&
         filter.priority.value_or(spec.priority) == spec.priority && IsWithin(spec.match, filter.match) &&
         (!filter.out_port.has_value() || OutputsTo(spec.actions, *filter.out_port));
}

}  // namespace sluice
