// How long a flow stays: without packets, and at all. A value type.

#pragma once

#include <cstdint>

namespace sluice {

// In seconds; 0: for ever.
struct FlowTimeouts {
  uint16_t idle = 0;
  uint16_t hard = 0;

  bool any() const { return idle != 0 || hard != 0; }
};

}  // namespace sluice
