// Frames at random, for tests that compare with a slow twin. The generator is
// the caller's, so that a seed names a whole run.

#pragma once

#include <random>

#include "tests/support/packet_builder.h"

namespace sluice {

using Random = std::mt19937_64;

// From 0 to limit - 1; the same on every platform, as std::uniform_int_distribution is not.
uint64_t Below(Random& random, uint64_t limit);

// A well-formed frame with right checksums: any mix of tags, LLC/SNAP, MPLS, ARP,
// IPv4 with options, IPv6 with extension headers, fragments, all L4 protocols,
// neighbour discovery (whose options may be ill-formed), odd and even payloads,
// padding. Addresses and ports come from few values, so that
// flows hit.
Bytes RandomFrame(Random& random);

// A frame that may be cut short anywhere and have some of its bytes changed,
// headers before payload.
Bytes RandomDamagedFrame(Random& random);

}  // namespace sluice
