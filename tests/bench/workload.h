// A workload folder as tools/bench makes it: flows in Open vSwitch's text and a
// capture of their packets. Only what those files use is understood; anything
// else ends the program.

#pragma once

#include <string>
#include <vector>

#include "dataplane/flow/flow_table.h"
#include "dataplane/packet/key.h"

namespace sluice {

struct Workload {
  std::vector<FlowSpec> flows;  // in the file's order
  std::vector<PacketKey> keys;  // in the capture's, as received on port 1
};

Workload ReadWorkload(const std::string& folder);

}  // namespace sluice
