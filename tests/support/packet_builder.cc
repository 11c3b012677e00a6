#include "tests/support/packet_builder.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace sluice {
namespace {

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  std::abort();
}

// Writes numbers in network order, one after the other.
class Writer {
 public:
  Writer& U8(uint64_t value) { return Number(value, 1); }
  Writer& U16(uint64_t value) { return Number(value, 2); }
  Writer& U32(uint64_t value) { return Number(value, 4); }
  Writer& Append(const Bytes& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Writer& Zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  Bytes Take() { return std::move(bytes_); }

 private:
  Writer& Number(uint64_t value, int size) {
    for (int i = size - 1; i >= 0; --i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
    return *this;
  }

  Bytes bytes_;
};

Bytes ParseAddress(int family, const std::string& text, size_t size) {
  Bytes bytes(size);
  if (inet_pton(family, text.c_str(), bytes.data()) != 1) std::abort();
  return bytes;
}

void Put16(Bytes& bytes, size_t at, uint16_t value) {
  bytes.at(at) = static_cast<uint8_t>(value >> 8);
  bytes.at(at + 1) = static_cast<uint8_t>(value);
}

Bytes PaddedTo4(Bytes bytes) {
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}

Bytes Concat(const Bytes& a, const Bytes& b) { return Writer().Append(a).Append(b).Take(); }

// What TCP, UDP and ICMPv6 sum in front of their own bytes.
Bytes PseudoHeader(const Bytes& source, const Bytes& destination, uint8_t ip_proto, size_t length) {
  Writer writer;
  writer.Append(source).Append(destination);
  if (source.size() == 16) return writer.U32(length).U32(ip_proto).Take();
  return writer.U16(ip_proto).U16(length).Take();
}

}  // namespace

Bytes FromHex(std::string_view hex) {
  Bytes bytes;
  int high = -1;
  for (char c : hex) {
    if (std::isspace(static_cast<unsigned char>(c))) continue;
    const int digit = DigitValue(c);
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  if (high >= 0) std::abort();
  return bytes;
}

std::string ToHex(const Bytes& bytes) {
  std::string hex;
  for (uint8_t byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

Bytes MacBytes(const std::string& text) {
  std::string hex = text;
  std::erase(hex, ':');
  Bytes bytes = FromHex(hex);
  if (bytes.size() != 6) std::abort();
  return bytes;
}

Bytes Ipv4Bytes(const std::string& text) { return ParseAddress(AF_INET, text, 4); }
Bytes Ipv6Bytes(const std::string& text) { return ParseAddress(AF_INET6, text, 16); }

uint16_t SlowChecksum(const Bytes& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
    if (sum > 0xffff) sum -= 0xffff;
  }
  return static_cast<uint16_t>(~sum);
}

uint32_t SlowCrc32c(const Bytes& bytes) {
  uint32_t crc = 0xffffffff;
  for (uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

Bytes NeighborBody(const std::string& target, const std::vector<NeighborOption>& options) {
  Writer writer;
  writer.Append(Ipv6Bytes(target));
  for (const NeighborOption& option : options) {
    writer.U8(option.type).U8(option.length).Append(MacBytes(option.address));
  }
  return writer.Take();
}

PacketBuilder::PacketBuilder(EthernetFields fields) : ethernet_(std::move(fields)) {}

PacketBuilder& PacketBuilder::Add(Layer layer) {
  layers_.push_back(std::move(layer));
  return *this;
}

PacketBuilder& PacketBuilder::Vlan(VlanFields f) {
  return Add({.ether_type = f.tpid, .write = [f](const Context& c) {
                const uint16_t type = c.ether_type != 0 ? c.ether_type : static_cast<uint16_t>(c.inner.size());
                return Writer().U16(f.pcp << 13 | f.dei << 12 | f.vid).U16(type).Take();
              }});
}

PacketBuilder& PacketBuilder::EtherType(uint16_t type) {
  return Add({.ether_type = type, .write = [](const Context&) { return Bytes(); }});
}

PacketBuilder& PacketBuilder::Snap(uint32_t oui, std::optional<uint16_t> protocol) {
  return Add({.write = [=](const Context& c) {
    return Writer().U16(0xaaaa).U8(3).U8(oui >> 16).U16(oui).U16(protocol.value_or(c.ether_type)).Take();
  }});
}

PacketBuilder& PacketBuilder::Llc(Bytes header) {
  return Add({.write = [header](const Context&) { return header; }});
}

PacketBuilder& PacketBuilder::Mpls(MplsFields f) {
  return Add({.ether_type = f.type, .write = [f](const Context& c) {
                const bool another = c.ether_type == 0x8847 || c.ether_type == 0x8848;
                return Writer().U32(f.label << 12 | f.tc << 9 | f.bottom.value_or(!another) << 8 | f.ttl).Take();
              }});
}

PacketBuilder& PacketBuilder::Arp(ArpFields f) {
  return Add({.ether_type = 0x0806, .write = [f](const Context&) {
                Writer writer;
                writer.U16(f.hardware).U16(f.protocol).U8(f.hardware_size).U8(f.protocol_size).U16(f.op);
                writer.Append(MacBytes(f.sha)).Append(Ipv4Bytes(f.spa));
                return writer.Append(MacBytes(f.tha)).Append(Ipv4Bytes(f.tpa)).Take();
              }});
}

PacketBuilder& PacketBuilder::Ipv4(Ipv4Fields f) {
  const Bytes source = Ipv4Bytes(f.src);
  const Bytes destination = Ipv4Bytes(f.dst);
  const auto write = [=](const Context& c) {
    const Bytes options = PaddedTo4(f.options);
    const size_t size = 20 + options.size();
    Writer writer;
    writer.U8(f.version.value_or(4) << 4 | f.ihl.value_or(size / 4)).U8(f.tos);
    writer.U16(f.total_length.value_or(size + c.inner.size())).U16(f.id);
    writer.U16(f.dont_fragment << 14 | f.more_fragments << 13 | f.fragment_offset);
    writer.U8(f.ttl).U8(f.protocol.value_or(c.ip_proto)).U16(0);
    Bytes header = writer.Append(source).Append(destination).Append(options).Take();
    Put16(header, 10, f.checksum.value_or(SlowChecksum(header)));
    return header;
  };
  return Add({.ether_type = 0x0800, .ip_proto = 4, .write = write, .source = source, .destination = destination});
}

PacketBuilder& PacketBuilder::Ipv6(Ipv6Fields f) {
  const Bytes source = Ipv6Bytes(f.src);
  const Bytes destination = Ipv6Bytes(f.dst);
  const auto write = [=](const Context& c) {
    Writer writer;
    writer.U32(uint32_t{f.version.value_or(6)} << 28 | f.tos << 20 | f.flow_label);
    writer.U16(f.payload_length.value_or(c.inner.size())).U8(f.next_header.value_or(c.ip_proto)).U8(f.hop_limit);
    return writer.Append(source).Append(destination).Take();
  };
  return Add({.ether_type = 0x86dd, .ip_proto = 41, .write = write, .source = source, .destination = destination});
}

PacketBuilder& PacketBuilder::AddOptions(uint8_t ip_proto, OptionsFields f) {
  return Add({.ip_proto = ip_proto, .write = [f](const Context& c) {
                Writer writer;
                writer.U8(f.next_header.value_or(c.ip_proto)).U8(f.length.value_or(f.size / 8 - 1));
                return writer.U8(1).U8(f.size - 4).Zeros(f.size - 4).Take();  // one PadN option
              }});
}

PacketBuilder& PacketBuilder::HopByHop(OptionsFields f) { return AddOptions(0, f); }
PacketBuilder& PacketBuilder::DestinationOptions(OptionsFields f) { return AddOptions(60, f); }

PacketBuilder& PacketBuilder::Routing(RoutingFields f) {
  Bytes last;
  if (f.segments_left > 0) last = Ipv6Bytes(f.segments.at(0));
  const auto write = [f](const Context& c) {
    Writer writer;
    writer.U8(f.next_header.value_or(c.ip_proto)).U8(f.length.value_or(f.segments.size() * 2));
    writer.U8(f.type).U8(f.segments_left).U8(f.segments.empty() ? 0 : f.segments.size() - 1).U8(0).U16(0);
    for (const std::string& segment : f.segments) writer.Append(Ipv6Bytes(segment));
    return writer.Take();
  };
  return Add({.ip_proto = 43, .write = write, .destination = last});
}

PacketBuilder& PacketBuilder::Authentication(AuthenticationFields f) {
  return Add({.ip_proto = 51, .write = [f](const Context& c) {
                Writer writer;
                writer.U8(f.next_header.value_or(c.ip_proto)).U8(f.length.value_or((12 + f.icv_size) / 4 - 2));
                return writer.U16(0).U32(0x100).U32(1).Zeros(f.icv_size).Take();
              }});
}

PacketBuilder& PacketBuilder::Fragment(FragmentFields f) {
  return Add({.ip_proto = 44, .write = [f](const Context& c) {
                Writer writer;
                writer.U8(f.next_header.value_or(c.ip_proto)).U8(0);
                return writer.U16(f.offset << 3 | f.reserved << 1 | f.more).U32(f.id).Take();
              }});
}

PacketBuilder& PacketBuilder::AddTransport(uint8_t ip_proto, std::function<Bytes(const Context&)> write) {
  return Add({.ip_proto = ip_proto, .write = std::move(write)});
}

PacketBuilder& PacketBuilder::Tcp(TcpFields f) {
  return AddTransport(6, [f](const Context& c) {
    const Bytes options = PaddedTo4(f.options);
    Writer writer;
    writer.U16(f.src).U16(f.dst).U32(f.seq).U32(f.ack);
    writer.U16(f.data_offset.value_or(5 + options.size() / 4) << 12 | f.flags).U16(f.window).U16(0).U16(0);
    Bytes header = writer.Append(options).Take();
    const Bytes pseudo = PseudoHeader(c.pseudo_source, c.pseudo_destination, 6, header.size() + c.inner.size());
    Put16(header, 16, f.checksum.value_or(SlowChecksum(Concat(Concat(pseudo, header), c.inner))));
    return header;
  });
}

PacketBuilder& PacketBuilder::Udp(UdpFields f) {
  return AddTransport(17, [f](const Context& c) {
    const size_t size = 8 + c.inner.size();
    Bytes header = Writer().U16(f.src).U16(f.dst).U16(f.length.value_or(size)).U16(0).Take();
    const Bytes pseudo = PseudoHeader(c.pseudo_source, c.pseudo_destination, 17, size);
    const uint16_t sum = SlowChecksum(Concat(Concat(pseudo, header), c.inner));
    Put16(header, 6, f.checksum.value_or(sum == 0 ? 0xffff : sum));
    return header;
  });
}

PacketBuilder& PacketBuilder::Sctp(SctpFields f) {
  return AddTransport(132, [f](const Context& c) {
    const Bytes header = Writer().U16(f.src).U16(f.dst).U32(f.tag).U32(0).Take();
    const uint32_t crc = f.checksum.value_or(SlowCrc32c(Concat(header, c.inner)));
    return Writer().U16(f.src).U16(f.dst).U32(f.tag).U32(ntohl(crc)).Take();
  });
}

PacketBuilder& PacketBuilder::Icmp(IcmpFields f) {
  return AddTransport(1, [f](const Context& c) {
    Bytes header = Writer().U8(f.type).U8(f.code).U16(0).U32(f.rest).Take();
    Put16(header, 2, f.checksum.value_or(SlowChecksum(Concat(header, c.inner))));
    return header;
  });
}

PacketBuilder& PacketBuilder::Icmpv6(IcmpFields f) {
  return AddTransport(58, [f](const Context& c) {
    Bytes header = Writer().U8(f.type).U8(f.code).U16(0).U32(f.rest).Take();
    const Bytes pseudo = PseudoHeader(c.pseudo_source, c.pseudo_destination, 58, 8 + c.inner.size());
    Put16(header, 2, f.checksum.value_or(SlowChecksum(Concat(Concat(pseudo, header), c.inner))));
    return header;
  });
}

PacketBuilder& PacketBuilder::Payload(Bytes bytes) {
  return Add({.write = [bytes = std::move(bytes)](const Context&) { return bytes; }});
}

PacketBuilder& PacketBuilder::Payload(std::string_view text) { return Payload(Bytes(text.begin(), text.end())); }

PacketBuilder& PacketBuilder::PadTo(size_t size, uint8_t fill) {
  pad_to_ = size;
  fill_ = fill;
  return *this;
}

Bytes PacketBuilder::Build() const {
  Bytes inner;
  Layer behind;
  for (size_t i = layers_.size(); i-- > 0;) {
    Bytes source;
    Bytes destination;
    for (size_t j = 0; j < i; ++j) {
      if (!layers_[j].source.empty()) source = layers_[j].source;
      if (!layers_[j].destination.empty()) destination = layers_[j].destination;
    }
    inner = Concat(layers_[i].write({inner, behind.ether_type, behind.ip_proto, source, destination}), inner);
    behind = layers_[i];
  }
  const uint16_t type = behind.ether_type != 0 ? behind.ether_type : static_cast<uint16_t>(inner.size());
  Writer writer;
  writer.Append(MacBytes(ethernet_.dst)).Append(MacBytes(ethernet_.src)).U16(type).Append(inner);
  Bytes frame = writer.Take();
  if (frame.size() < pad_to_) frame.resize(pad_to_, fill_);
  return frame;
}

}  // namespace sluice
