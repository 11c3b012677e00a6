// A packet that a controller sends (packet-out), and what became of it.

#pragma once

#include <cstdint>
#include <string>

#include "dataplane/flow/action.h"

namespace sluice {

struct PacketToSend {
  std::string bytes;     // a frame without FCS
  uint32_t in_port = 0;  // as which port's it counts; 0: none
  ActionList actions;    // a goto_table at their end may name any table
};

}  // namespace sluice
