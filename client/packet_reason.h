// The reasons for which packets go to controllers, as people write them.
//
// Pure functions; any thread.

#pragma once

#include <map>
#include <string>

#include "sluice/v1/flow.pb.h"

namespace sluice::client {

// "action", of PACKET_REASON_ACTION; a number where this version knows no name.
std::string NameOf(v1::PacketReason reason);

// All that there are, by name.
const std::map<std::string, v1::PacketReason>& PacketReasons();

// "action, no_match, … or packet_out".
std::string PacketReasonNames();

}  // namespace sluice::client
