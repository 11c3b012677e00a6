// Frames for tests, written as what they hold:
//
//   Bytes frame = PacketBuilder().Vlan({.vid = 5}).Ipv4({.ttl = 1}).Udp({.dst =
//   53}).Payload("query").PadTo(60).Build();
//
// Layers stand in the order of the wire. EtherTypes, protocol numbers, lengths
// and checksums follow from what comes behind; an optional field that is set
// overrides what would follow, right or wrong. Checksums are computed here, byte
// by byte, by code that shares nothing with the product's.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using Bytes = std::vector<uint8_t>;

// Whitespace between digits is ignored. Aborts on anything else.
Bytes FromHex(std::string_view hex);
std::string ToHex(const Bytes& bytes);

// Addresses as text: MAC, dotted IPv4, IPv6. Aborts on anything else.
Bytes MacBytes(const std::string& text);
Bytes Ipv4Bytes(const std::string& text);
Bytes Ipv6Bytes(const std::string& text);

// The Internet checksum of bytes that hold zero, or nothing, in its place.
uint16_t SlowChecksum(const Bytes& bytes);
// CRC-32c as a number whose lowest byte is sent first.
uint32_t SlowCrc32c(const Bytes& bytes);

struct EthernetFields {
  std::string src = "02:00:00:00:00:0a";
  std::string dst = "02:00:00:00:00:0b";
};

struct VlanFields {
  uint16_t vid = 0;
  uint8_t pcp = 0;
  bool dei = false;
  uint16_t tpid = 0x8100;
};

struct MplsFields {
  uint32_t label = 16;
  uint8_t tc = 0, ttl = 64;
  std::optional<bool> bottom = {};  // unless another entry follows
  uint16_t type = 0x8847;
};

struct ArpFields {
  uint16_t op = 1;
  std::string sha = "02:00:00:00:00:0a", spa = "192.0.2.1", tha = "00:00:00:00:00:00", tpa = "192.0.2.2";
  uint16_t hardware = 1, protocol = 0x0800;
  uint8_t hardware_size = 6, protocol_size = 4;
};

struct Ipv4Fields {
  std::string src = "192.0.2.1", dst = "192.0.2.2";
  uint8_t tos = 0, ttl = 64;
  uint16_t id = 1;
  bool dont_fragment = false, more_fragments = false;
  uint16_t fragment_offset = 0;  // in units of 8 bytes
  Bytes options = {};            // padded with zeros to a multiple of 4
  std::optional<uint8_t> version = {}, ihl = {}, protocol = {};
  std::optional<uint16_t> total_length = {}, checksum = {};
};

struct Ipv6Fields {
  std::string src = "2001:db8:1::1", dst = "2001:db8:1::2";
  uint8_t tos = 0, hop_limit = 64;
  uint32_t flow_label = 0;
  std::optional<uint8_t> version = {}, next_header = {};
  std::optional<uint16_t> payload_length = {};
};

// IPv6 extension headers.
struct OptionsFields {
  size_t size = 8;  // whole header, a multiple of 8
  std::optional<uint8_t> next_header = {}, length = {};
};
struct RoutingFields {
  uint8_t type = 4, segments_left = 0;
  std::vector<std::string> segments = {};  // the first is the final destination, as in RFC 8754
  std::optional<uint8_t> next_header = {}, length = {};
};
struct AuthenticationFields {
  size_t icv_size = 12;  // a multiple of 4, and of 8 with the 12 bytes before it
  std::optional<uint8_t> next_header = {}, length = {};
};
struct FragmentFields {
  uint16_t offset = 0;  // in units of 8 bytes
  bool more = false;
  uint8_t reserved = 0;  // the two bits beside `more`
  uint32_t id = 0x1234;
  std::optional<uint8_t> next_header = {};
};

struct TcpFields {
  uint16_t src = 40000, dst = 80;
  uint32_t seq = 1, ack = 1;
  uint16_t flags = 0x10;  // 12 bits
  uint16_t window = 1024;
  Bytes options = {};  // padded with zeros to a multiple of 4
  std::optional<uint8_t> data_offset = {};
  std::optional<uint16_t> checksum = {};
};
struct UdpFields {
  uint16_t src = 40000, dst = 53;
  std::optional<uint16_t> length = {}, checksum = {};
};
struct SctpFields {
  uint16_t src = 40000, dst = 3868;
  uint32_t tag = 7;
  std::optional<uint32_t> checksum = {};
};
struct IcmpFields {
  uint8_t type = 8, code = 0;
  uint32_t rest = 0x00010001;
  std::optional<uint16_t> checksum = {};
};

// What a neighbour solicitation or advertisement has behind its first 8 bytes.
struct NeighborOption {
  uint8_t type = 1;  // 1: source, 2: target link-layer address
  std::string address = "02:00:00:00:00:0a";
  uint8_t length = 1;  // as it is said; the option has 8 bytes
};
Bytes NeighborBody(const std::string& target, const std::vector<NeighborOption>& options = {});

class PacketBuilder {
 public:
  explicit PacketBuilder(EthernetFields fields = {});

  PacketBuilder& Vlan(VlanFields fields = {});
  // Instead of the EtherType that would follow.
  PacketBuilder& EtherType(uint16_t type);
  // 802.3: a length, then LLC, with SNAP for what comes behind, or three bytes.
  PacketBuilder& Snap(uint32_t oui = 0, std::optional<uint16_t> protocol = {});
  PacketBuilder& Llc(Bytes header);

  PacketBuilder& Mpls(MplsFields fields = {});
  PacketBuilder& Arp(ArpFields fields = {});
  PacketBuilder& Ipv4(Ipv4Fields fields = {});
  PacketBuilder& Ipv6(Ipv6Fields fields = {});
  PacketBuilder& HopByHop(OptionsFields fields = {});
  PacketBuilder& DestinationOptions(OptionsFields fields = {});
  PacketBuilder& Routing(RoutingFields fields = {});
  PacketBuilder& Authentication(AuthenticationFields fields = {});
  PacketBuilder& Fragment(FragmentFields fields = {});

  PacketBuilder& Tcp(TcpFields fields = {});
  PacketBuilder& Udp(UdpFields fields = {});
  PacketBuilder& Sctp(SctpFields fields = {});
  PacketBuilder& Icmp(IcmpFields fields = {});
  PacketBuilder& Icmpv6(IcmpFields fields = {.type = 128});

  PacketBuilder& Payload(Bytes bytes);
  PacketBuilder& Payload(std::string_view text);
  // Fills the frame up to `size` with bytes that belong to no layer.
  PacketBuilder& PadTo(size_t size, uint8_t fill = 0);

  Bytes Build() const;

 private:
  // What a layer must know of the others to write itself.
  struct Context {
    const Bytes& inner;          // all that comes behind it
    uint16_t ether_type;         // of what comes behind it
    uint8_t ip_proto;            // likewise; 59 (nothing) if nothing does
    const Bytes& pseudo_source;  // of the IP header before it
    const Bytes& pseudo_destination;
  };
  struct Layer {
    uint16_t ether_type = 0;  // how Ethernet names it; 0: a length
    uint8_t ip_proto = 59;    // how IP names it
    std::function<Bytes(const Context&)> write = {};
    Bytes source = {};       // of an IP header
    Bytes destination = {};  // of an IP header; or of a routing header, the last one
  };

  PacketBuilder& Add(Layer layer);
  PacketBuilder& AddOptions(uint8_t ip_proto, OptionsFields fields);
  PacketBuilder& AddTransport(uint8_t ip_proto, std::function<Bytes(const Context&)> write);

  EthernetFields ethernet_;
  std::vector<Layer> layers_;
  size_t pad_to_ = 0;
  uint8_t fill_ = 0;
};

}  // namespace sluice
