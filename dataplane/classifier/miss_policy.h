// What becomes of a packet that no flow of a table matches.

#pragma once

#include <cstdint>

namespace sluice {

enum class MissPolicy : uint8_t {
  kDrop,
  kContinue,    // in the table with the next number; behind the last one: drop
  kController,  // to controllers
};

}  // namespace sluice
