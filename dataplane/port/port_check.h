// What a port's configuration may say, whatever its device. Pure; any thread.

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "dataplane/flow/action.h"
#include "dataplane/port/port_config.h"

namespace sluice {

inline constexpr size_t kMaxPortName = 31;
inline constexpr uint32_t kMinMtu = 68;
inline constexpr uint32_t kMaxMtu = 65535;

// INVALID_ARGUMENT says what would be right.
absl::Status CheckPortConfig(const PortConfig& config);
absl::Status CheckMtu(uint32_t mtu);

// Bytes that a frame of an `interface` port takes in the kernel's ring; what the
// driver demands of a packet buffer is 32 less.
uint32_t PacketRingFrame(uint32_t mtu);

}  // namespace sluice
