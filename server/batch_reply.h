// What BatchWrite answers: every item's result in a reply that stays below
// gRPC's limits, whatever went wrong in how many items.
//
// Pure; any thread.

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "dataplane/flow/flow_table.h"
#include "sluice/v1/flow_service.pb.h"

namespace sluice {

// kPerItem: OK, with the results in `response`. kAllOrNothing: the same if all
// went well; else the first failed item's code, with the failed items that fit
// in the details.
absl::Status BatchReply(const v1::BatchWriteRequest& request, BatchMode mode,
                        const std::vector<FlowChangeResult>& results, v1::BatchWriteResponse* response);

}  // namespace sluice
