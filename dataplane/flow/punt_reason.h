// Why a packet goes to controllers: OpenFlow's reasons.

#pragma once

#include <cstdint>

namespace sluice {

enum class PuntReason : uint8_t {
  kAction,      // a flow's action
  kNoMatch,     // no flow of a table matched, and its miss policy says so
  kActionSet,   // an action that the packet had gathered in its action set
  kGroup,       // a bucket's action
  kInvalidTtl,  // a flow's action that gives this reason
  kPacketOut,   // an action of the list that came with the packet from a controller
};

}  // namespace sluice
