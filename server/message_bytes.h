// How much a message of a stream holds, about, all in all: gRPC's clients refuse
// more than 4 MiB.

#pragma once

#include <cstddef>

namespace sluice {

inline constexpr size_t kMessageBytes = 1 << 20;

}  // namespace sluice
