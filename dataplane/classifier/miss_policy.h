// What becomes of a packet that no flow of a table matches.

#pragma once

#include <cstdint>

namespace sluice {

enum class MissPolicy : uint8_t {
  kDrop,
  kContinue,    // in the table with the next number; behind the last one: drop
  kController,  // to controllers
};

// The table in which such a packet goes on; 0: in none.
constexpr uint8_t TableAfterMiss(MissPolicy policy, uint8_t table_id) {
  constexpr uint8_t kLastTable = 254;
  return policy == MissPolicy::kContinue && table_id < kLastTable ? table_id + 1 : 0;
}

}  // namespace sluice
