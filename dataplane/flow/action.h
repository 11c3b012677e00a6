// What happens to a packet, as the workers execute it. Value types; any thread.

#pragma once

#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "dataplane/flow/punt_reason.h"
#include "dataplane/packet/field.h"

namespace sluice {

// Port numbers that users may give: as in OpenFlow 1.0.
inline constexpr uint32_t kMaxPortNumber = 0xfeff;

// Action::… says which of its members a type uses.
enum class ActionType : uint8_t {
  kOutput,        // to port
  kOutputInPort,  // back to the port that received the packet
  kOutputAll,     // to every enabled port but that one
  kOutputFlood,   // as kOutputAll
  kOutputNormal,  // as a MAC-learning switch would
  kOutputField,   // to the port that stands in field, bits of it from source_bit on: 0xfff8 in_port, 0xfffb and 0xfffc
                  // all
  kSetField,      // field, value, mask
  kMoveField,     // bits of field from source_bit on become those of destination from destination_bit on
  kPushVlan,      // tpid, only_if_untagged
  kPopVlan,
  kPushMpls,  // tpid: the EtherType that the frame gets
  kPopMpls,   // tpid: likewise
  kDecTtl,
  kDecMplsTtl,
  kGroup,       // port: the group's id
  kMeter,       // port: the meter's id
  kController,  // port: how many bytes at most; reason, kAction: how the packet got here
  kClearActions,
  kGotoTable,  // port: the table's id; the last action of a list
};

struct Action {
  ActionType type{};
  Field field = Field::kNone;
  bool only_if_untagged = false;
  bool deferred = false;  // not done but put into the packet's action set
  uint16_t tpid = 0;      // host order
  uint8_t source_bit = 0;
  uint8_t destination_bit = 0;
  uint32_t port = 0;
  uint8_t bits = 0;
  Field destination = Field::kNone;
  PuntReason reason = PuntReason::kAction;
  absl::uint128 value = 0;
  absl::uint128 mask = 0;

  friend bool operator==(const Action&, const Action&) = default;
};
static_assert(sizeof(Action) == 48);

// Sends the packet, as it then is, to a port.
inline bool IsOutput(const Action& action) { return action.type <= ActionType::kOutputField; }

// Of outputs that send the frame as it is to ports that exist without looking at it.
inline bool IsPlainOutput(const Action& action) { return action.type <= ActionType::kOutputFlood && !action.deferred; }

// In order; none: drop.
using ActionList = std::vector<Action>;

}  // namespace sluice
