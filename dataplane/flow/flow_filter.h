// Which flows a filter selects. Under the flow table's lock.

#pragma once

#include "dataplane/flow/flow.h"
#include "dataplane/flow/flow_table.h"

namespace sluice {

bool Selects(const FlowFilter& filter, const Flow& flow);
// Of a copy; any thread.
bool Selects(const FlowFilter& filter, const FlowSpec& spec);

}  // namespace sluice
