#include "tests/support/random_packet.h"

#include <algorithm>
#include <string>

namespace sluice {
namespace {

bool OneIn(Random& random, uint64_t n) { return Below(random, n) == 0; }

Bytes RandomBytes(Random& random, size_t size) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

uint16_t Port(Random& random) {
  static constexpr uint16_t kPorts[] = {0, 53, 80, 443, 40000, 0xffff};
  return kPorts[Below(random, std::size(kPorts))];
}

std::string Ipv4Address(Random& random) { return "10.0." + std::to_string(Below(random, 4)) + ".1"; }
std::string Ipv6Address(Random& random) { return "2001:db8:" + std::to_string(Below(random, 4)) + "::1"; }

std::string MacAddress(Random& random) { return "02:00:00:00:00:0" + std::to_string(Below(random, 4)); }

// Mostly options as they should be; now and then none, one twice, or a length that is wrong.
std::vector<NeighborOption> NeighborOptions(Random& random) {
  static constexpr uint8_t kTypes[] = {1, 1, 2, 2, 3, 14};
  std::vector<NeighborOption> options(Below(random, 4));
  for (NeighborOption& option : options) {
    option.type = kTypes[Below(random, std::size(kTypes))];
    option.address = OneIn(random, 6) ? "00:00:00:00:00:00" : MacAddress(random);
    if (OneIn(random, 8)) option.length = static_cast<uint8_t>(Below(random, 4));
  }
  return options;
}

void AddNeighbor(Random& random, PacketBuilder& builder) {
  IcmpFields icmp{.type = static_cast<uint8_t>(135 + Below(random, 2)), .rest = static_cast<uint32_t>(random())};
  if (OneIn(random, 16)) icmp.code = 1;
  Bytes body = NeighborBody(Ipv6Address(random), NeighborOptions(random));
  if (OneIn(random, 8)) body.resize(Below(random, body.size() + 1));
  builder.Icmpv6(icmp).Payload(body);
}

void AddMpls(Random& random, PacketBuilder& builder) {
  const uint16_t type = OneIn(random, 3) ? 0x8848 : 0x8847;
  for (uint64_t entries = 1 + Below(random, 4); entries > 0; --entries) {
    MplsFields mpls{.label = static_cast<uint32_t>(OneIn(random, 2) ? Below(random, 4) : Below(random, 1 << 20))};
    mpls.tc = static_cast<uint8_t>(Below(random, 8));
    mpls.ttl = static_cast<uint8_t>(Below(random, 4) * 63);
    mpls.type = type;
    if (OneIn(random, 16)) mpls.bottom = OneIn(random, 2);
    builder.Mpls(mpls);
  }
}

void AddLink(Random& random, PacketBuilder& builder) {
  static constexpr uint16_t kTpids[] = {0x8100, 0x8100, 0x88a8};
  const uint64_t tags = OneIn(random, 2) ? 0 : Below(random, 4);
  for (uint64_t i = 0; i < tags; ++i) {
    builder.Vlan({.vid = static_cast<uint16_t>(Below(random, 4096)),
                  .pcp = static_cast<uint8_t>(Below(random, 8)),
                  .dei = OneIn(random, 4),
                  .tpid = kTpids[Below(random, std::size(kTpids))]});
  }
  if (OneIn(random, 10)) builder.Snap(OneIn(random, 4) ? 0x0c : 0);
}

// True if what follows still begins with an L4 header.
bool AddIpv4(Random& random, PacketBuilder& builder, uint8_t later_protocol) {
  Ipv4Fields ip{.src = Ipv4Address(random), .dst = Ipv4Address(random)};
  ip.tos = static_cast<uint8_t>(random());
  ip.ttl = static_cast<uint8_t>(Below(random, 4) * 63);
  ip.id = static_cast<uint16_t>(random());
  if (OneIn(random, 4)) ip.options = RandomBytes(random, Below(random, 41));
  if (OneIn(random, 6)) ip.more_fragments = true;
  if (OneIn(random, 6)) ip.fragment_offset = static_cast<uint16_t>(Below(random, 8192));
  if (ip.fragment_offset != 0) ip.protocol = later_protocol;
  builder.Ipv4(ip);
  return ip.fragment_offset == 0;
}

bool AddIpv6(Random& random, PacketBuilder& builder, uint8_t later_protocol) {
  Ipv6Fields ip{.src = Ipv6Address(random), .dst = Ipv6Address(random)};
  ip.tos = static_cast<uint8_t>(random());
  ip.hop_limit = static_cast<uint8_t>(Below(random, 4) * 63);
  ip.flow_label = static_cast<uint32_t>(Below(random, 1 << 20));
  builder.Ipv6(ip);
  const uint64_t extensions = OneIn(random, 2) ? 0 : Below(random, 4);
  for (uint64_t i = 0; i < extensions; ++i) {
    switch (Below(random, 6)) {
      case 0:
        builder.HopByHop({.size = 8 * (1 + Below(random, 3))});
        break;
      case 1:
        builder.DestinationOptions({.size = 8 * (1 + Below(random, 3))});
        break;
      case 2:
        builder.Routing({.segments_left = static_cast<uint8_t>(Below(random, 2)),
                         .segments = {Ipv6Address(random), Ipv6Address(random)}});
        break;
      case 3:
        builder.Authentication({.icv_size = 4 + 8 * Below(random, 3)});
        break;
      default: {
        FragmentFields fragment{.more = OneIn(random, 3), .reserved = static_cast<uint8_t>(OneIn(random, 8) ? 2 : 0)};
        if (OneIn(random, 4)) fragment.offset = static_cast<uint16_t>(1 + Below(random, 8191));
        if (fragment.offset != 0) fragment.next_header = later_protocol;
        builder.Fragment(fragment);
        if (fragment.offset != 0) return false;
      }
    }
  }
  return true;
}

void AddTransport(Random& random, PacketBuilder& builder, bool ipv6) {
  switch (Below(random, ipv6 ? 8 : 6)) {
    case 0:
    case 1: {
      TcpFields tcp{.src = Port(random), .dst = Port(random), .seq = static_cast<uint32_t>(random())};
      tcp.flags = static_cast<uint16_t>(OneIn(random, 2) ? Below(random, 4096) : 1u << Below(random, 12));
      if (OneIn(random, 3)) tcp.options = RandomBytes(random, Below(random, 41));
      builder.Tcp(tcp);
      break;
    }
    case 2:
    case 3: {
      UdpFields udp{.src = Port(random), .dst = Port(random)};
      if (OneIn(random, 6)) udp.checksum = 0;
      builder.Udp(udp);
      break;
    }
    case 4:
      builder.Sctp({.src = Port(random), .dst = Port(random), .tag = static_cast<uint32_t>(random())});
      break;
    default: {
      if (ipv6 && OneIn(random, 2)) return AddNeighbor(random, builder);
      const IcmpFields icmp{.type = static_cast<uint8_t>(Below(random, 256)),
                            .code = static_cast<uint8_t>(Below(random, 4)),
                            .rest = static_cast<uint32_t>(random())};
      ipv6 ? builder.Icmpv6(icmp) : builder.Icmp(icmp);
    }
  }
}

void AddArp(Random& random, PacketBuilder& builder) {
  static constexpr uint16_t kOperations[] = {1, 2, 3, 256};
  ArpFields arp{.op = kOperations[Below(random, std::size(kOperations))]};
  arp.spa = Ipv4Address(random);
  arp.tpa = Ipv4Address(random);
  arp.sha = MacAddress(random);
  arp.tha = MacAddress(random);
  builder.Arp(arp);
}

}  // namespace

uint64_t Below(Random& random, uint64_t limit) { return random() % limit; }

Bytes RandomFrame(Random& random) {
  static constexpr uint8_t kProtocols[] = {1, 6, 17, 58, 132};
  PacketBuilder builder({.src = "02:00:00:00:00:0" + std::to_string(Below(random, 4)),
                         .dst = "02:00:00:00:01:0" + std::to_string(Below(random, 4))});
  AddLink(random, builder);
  const uint8_t later_protocol = kProtocols[Below(random, std::size(kProtocols))];
  if (OneIn(random, 8)) AddMpls(random, builder);
  switch (Below(random, 12)) {
    case 0:
      AddArp(random, builder);
      break;
    case 1:
      builder.EtherType(0x88b5);
      break;
    case 2:
      builder.Llc({0x42, 0x42, 0x03});
      break;
    case 3:
    case 4:
    case 5:
    case 6:
      if (AddIpv6(random, builder, later_protocol)) AddTransport(random, builder, true);
      break;
    default:
      if (AddIpv4(random, builder, later_protocol)) AddTransport(random, builder, false);
  }
  builder.Payload(RandomBytes(random, OneIn(random, 4) ? 0 : Below(random, 100)));
  if (OneIn(random, 2)) builder.PadTo(60 + Below(random, 80), static_cast<uint8_t>(random()));
  return builder.Build();
}

Bytes RandomDamagedFrame(Random& random) {
  Bytes frame = RandomFrame(random);
  const uint64_t changes = OneIn(random, 3) ? 0 : 1 + Below(random, 4);
  for (uint64_t i = 0; i < changes; ++i) {
    uint8_t& byte = frame[12 + Below(random, std::min<size_t>(frame.size() - 12, 90))];
    byte = OneIn(random, 2) ? static_cast<uint8_t>(random()) : byte ^ static_cast<uint8_t>(1 << Below(random, 8));
  }
  if (OneIn(random, 3)) frame.resize(Below(random, frame.size() + 1));
  return frame;
}

}  // namespace sluice
