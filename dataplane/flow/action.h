// What happens to a packet, as the workers execute it. Value types; any thread.

#pragma once

#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "dataplane/packet/field.h"

namespace sluice {

// Port numbers that users may give: as in OpenFlow 1.0.
inline constexpr uint32_t kMaxPortNumber = 0xfeff;

enum class ActionType : uint8_t {
  kOutput,        // to Action::port
  kOutputInPort,  // back to the port that received the packet
  kOutputAll,     // to every enabled port but that one
  kSetField,      // Action::field, value, mask
  kPushVlan,      // Action::tpid, only_if_untagged
  kPopVlan,
  kDecTtl,
};

struct Action {
  ActionType type{};
  Field field = Field::kNone;
  bool only_if_untagged = false;
  uint16_t tpid = 0;  // host order
  uint32_t port = 0;
  absl::uint128 value = 0;
  absl::uint128 mask = 0;

  friend bool operator==(const Action&, const Action&) = default;
};

inline bool IsOutput(const Action& action) {
  return action.type == ActionType::kOutput || action.type == ActionType::kOutputInPort ||
         action.type == ActionType::kOutputAll;
}

// In order; none: drop.
using ActionList = std::vector<Action>;

}  // namespace sluice
