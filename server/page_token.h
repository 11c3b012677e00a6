// Where a listing goes on: the last id that was seen, bound to the filter and
// to this start of the switch, whose ids begin anew. No secret, only a guard
// against mistakes. Pure; any thread.

#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "dataplane/flow/flow_table.h"

namespace sluice {

std::string MakePageToken(uint64_t seed, const FlowFilter& filter, uint64_t after_id);

// False if the token was not made with this seed and filter. An empty one is
// the beginning.
bool ReadPageToken(absl::string_view token, uint64_t seed, const FlowFilter& filter, uint64_t& after_id);

}  // namespace sluice
