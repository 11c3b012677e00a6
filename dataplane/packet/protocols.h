// Numbers of Ethernet and IP that parsing and rewriting share, as the standards
// have them. Constants; any thread.

#pragma once

#include <cstdint>

namespace sluice {

// EtherTypes, host order.
inline constexpr uint16_t kEthTypeIpv4 = 0x0800;
inline constexpr uint16_t kEthTypeArp = 0x0806;
inline constexpr uint16_t kEthTypeVlan = 0x8100;
inline constexpr uint16_t kEthTypeIpv6 = 0x86dd;
inline constexpr uint16_t kEthTypeMpls = 0x8847;
inline constexpr uint16_t kEthTypeMplsMulticast = 0x8848;
inline constexpr uint16_t kEthTypeServiceVlan = 0x88a8;
// Below it the two bytes behind the addresses are an IEEE 802.3 length.
inline constexpr uint16_t kEthTypeMin = 0x0600;

inline constexpr bool IsVlanTpid(uint16_t eth_type) {
  return eth_type == kEthTypeVlan || eth_type == kEthTypeServiceVlan;
}

inline constexpr bool IsMpls(uint16_t eth_type) {
  return eth_type == kEthTypeMpls || eth_type == kEthTypeMplsMulticast;
}

// IP protocols and IPv6 header types.
inline constexpr uint8_t kIpProtoHopByHop = 0;
inline constexpr uint8_t kIpProtoIcmp = 1;
inline constexpr uint8_t kIpProtoTcp = 6;
inline constexpr uint8_t kIpProtoUdp = 17;
inline constexpr uint8_t kIpProtoRouting = 43;
inline constexpr uint8_t kIpProtoFragment = 44;
inline constexpr uint8_t kIpProtoAuthentication = 51;
inline constexpr uint8_t kIpProtoIcmpv6 = 58;
inline constexpr uint8_t kIpProtoDestinationOptions = 60;
inline constexpr uint8_t kIpProtoSctp = 132;

// The IPv6 extension headers that are looked through. What else there is
// (mobility, HIP, shim6) counts as the packet's protocol.
inline constexpr bool IsIpv6Extension(uint8_t ip_proto) {
  constexpr uint64_t kSet = 1ull << kIpProtoHopByHop | 1ull << kIpProtoRouting | 1ull << kIpProtoFragment |
                            1ull << kIpProtoAuthentication | 1ull << kIpProtoDestinationOptions;
  return ip_proto < 64 && (kSet >> ip_proto & 1) != 0;
}

// The whole length of an IPv6 extension header, by its type and length byte.
inline constexpr uint32_t Ipv6ExtensionSize(uint8_t ip_proto, uint8_t length_byte) {
  if (ip_proto == kIpProtoFragment) return 8;
  if (ip_proto == kIpProtoAuthentication) return (length_byte + 2u) * 4;
  return (length_byte + 1u) * 8;
}

// Sizes of fixed headers in bytes.
inline constexpr uint32_t kEthernetSize = 14;
inline constexpr uint32_t kVlanTagSize = 4;
inline constexpr uint32_t kMplsSize = 4;
inline constexpr uint32_t kLlcSnapSize = 8;
inline constexpr uint32_t kArpSize = 28;  // Ethernet and IPv4
inline constexpr uint32_t kIpv4Size = 20;
inline constexpr uint32_t kIpv6Size = 40;
inline constexpr uint32_t kTcpSize = 20;
inline constexpr uint32_t kUdpSize = 8;
inline constexpr uint32_t kSctpSize = 12;
inline constexpr uint32_t kIcmpSize = 8;
inline constexpr uint32_t kIcmpChecksumEnd = 4;

// Neighbour discovery: ICMPv6 types, and types of options.
inline constexpr uint8_t kNdSolicitation = 135;
inline constexpr uint8_t kNdAdvertisement = 136;
inline constexpr uint8_t kNdOptionSource = 1;
inline constexpr uint8_t kNdOptionTarget = 2;

// A label stack entry in host order: label, TC, bottom of stack, TTL.
inline constexpr uint32_t kMplsTcShift = 9;
inline constexpr uint32_t kMplsBottom = 0x100;
inline constexpr uint32_t kMplsLabelShift = 12;

}  // namespace sluice
