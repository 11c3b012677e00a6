// Frames for tests, written as what they hold.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using Bytes = std::vector<uint8_t>;

// Whitespace between digits is ignored. Aborts on anything else.
Bytes FromHex(std::string_view hex);
std::string ToHex(const Bytes& bytes);

}  // namespace sluice
