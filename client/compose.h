// A frame of which a match is true, for those who would rather say fields than bytes.
//
// What the match leaves open is zero, but for what a packet needs to be whole: lengths,
// checksums, a TTL of 64, the bottom of an MPLS stack. A masked field gets its value, a range
// its lowest one. A later fragment and what stands below an MPLS label have zeros for payload. At least 60 bytes.
//
// Pure; any thread.

#pragma once

#include <string>

#include "sluice/v1/flow.pb.h"

namespace sluice::client {

// The fields' prerequisites are met, as flow text sees to.
std::string ComposeFrame(const v1::Match& match);

}  // namespace sluice::client
