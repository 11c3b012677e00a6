// Where a MAC-learning switch would send a frame (OpenFlow's NORMAL, as Open
// vSwitch has it).
//
// The frame is taken as it is when NORMAL is carried out, in the VLAN of its outer
// tag then, VLAN 0 if it has none. Its source is learned behind the port that
// received it. It goes to the port behind which its destination is known in that
// VLAN, or to every enabled port but its own. Frames to addresses that bridges
// keep to themselves (spanning tree, pause, LACP, LLDP, …) go nowhere and teach
// nothing. What is known behind a port that is gone or disabled is unknown.
//
// A worker's; writes nothing but the table.

#pragma once

#include <cstdint>

#include "dataplane/flow/mac_table.h"
#include "dataplane/packet/frame.h"
#include "dataplane/worker/snapshot.h"

namespace sluice {

struct NormalWay {
  enum class Kind : uint8_t {
    kPort,      // to `port`
    kFlood,     // to every enabled port but the one that received it
    kReserved,  // nowhere
  };

  Kind kind;
  uint8_t port;  // index into the snapshot's ports
};

// A whole Ethernet header is there. `ingress`: the number of the port that received the frame; 0: none, then nothing
// is learned.
NormalWay FindNormalWay(const Frame& frame, const HeaderLayout& layout, uint32_t ingress, const Snapshot& snapshot,
                        MacTable& macs, uint32_t now_seconds);

}  // namespace sluice
