// Ranges of transport ports, in host order, both ends inclusive. "All ports" is
// no range: such a port is not looked at. Value types; any thread.

#pragma once

#include <cstdint>

#include "dataplane/packet/key.h"

namespace sluice {

struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0xffff;

  bool Contains(uint16_t port) const { return static_cast<uint16_t>(port - first) <= last - first; }
  bool Contains(const PortRange& other) const { return first <= other.first && other.last <= last; }
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

// The ports of a packet, which are zero where it has none.
struct Ports {
  uint16_t source;
  uint16_t destination;
};
inline Ports PortsOf(const PacketKey& key) { return {__builtin_bswap16(key.l4_src), __builtin_bswap16(key.l4_dst)}; }

struct PortRanges {
  PortRange source{};
  PortRange destination{};

  bool Contain(Ports ports) const { return source.Contains(ports.source) && destination.Contains(ports.destination); }
  friend bool operator==(const PortRanges&, const PortRanges&) = default;
};
static_assert(sizeof(PortRanges) == sizeof(uint64_t));

}  // namespace sluice
