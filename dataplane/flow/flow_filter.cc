#include "dataplane/flow/flow_filter.h"

#include <algorithm>

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

bool OutputsTo(const StoredActions& list, uint32_t port) {
  return std::ranges::any_of(list.actions(), [port](const Action& action) {
    return action.type == ActionType::kOutput && action.port == port;
  });
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
  return !filter.out_port.has_value() || OutputsTo(*entry.actions, *filter.out_port);
}

}  // namespace sluice
