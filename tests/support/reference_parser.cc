#include "tests/support/reference_parser.h"

#include <algorithm>
#include <stdexcept>

namespace sluice {
namespace {

// Bytes [begin, end) of a frame; at() throws outside of them.
class Slice {
 public:
  Slice(const Bytes& frame, size_t begin, size_t end) : frame_(&frame), begin_(begin), end_(end) {}

  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  size_t size() const { return end_ - begin_; }
  uint8_t at(size_t i) const {
    if (i >= size()) throw std::out_of_range("the reference parser read too far");
    return frame_->at(begin_ + i);
  }
  unsigned U16(size_t i) const { return at(i) * 256u + at(i + 1); }
  Slice From(size_t i) const { return {*frame_, begin_ + i, end_}; }
  Slice Upto(size_t i) const { return {*frame_, begin_, begin_ + i}; }
  void CopyTo(void* to, size_t i, size_t count) const {
    for (size_t k = 0; k < count; ++k) static_cast<uint8_t*>(to)[k] = at(i + k);
  }

 private:
  const Bytes* frame_;
  size_t begin_;
  size_t end_;
};

uint16_t Net16(unsigned value) { return static_cast<uint16_t>((value & 255) << 8 | value >> 8); }

uint32_t Net32(uint32_t value) { return uint32_t{Net16(value & 0xffff)} << 16 | Net16(value >> 16); }

// The link-layer address in the last option of a type, and whether there are two
// of it where the first is not zero.
struct LinkOption {
  size_t at = 0;  // 0: there is none
  bool twice = false;
  Bytes address = Bytes(6);

  void Take(const Slice& option) {
    twice = twice || address != Bytes(6);
    at = option.begin() + 2;
    option.CopyTo(address.data(), 2, 6);
  }
};

void Neighbor(const Slice& message, ReferenceResult& r) {
  if ((message.at(0) != 135 && message.at(0) != 136) || message.at(1) != 0 || message.size() < 24) return;
  r.header_bytes = message.begin() + 24;
  LinkOption source;
  LinkOption target;
  Slice rest = message.From(24);
  while (rest.size() >= 8 && !source.twice && !target.twice) {
    r.header_bytes = rest.begin() + 8;
    const size_t size = rest.at(1) * 8u;
    if (size == 0 || size > rest.size()) break;
    if (size == 8 && rest.at(0) == 1) source.Take(rest);
    if (size == 8 && rest.at(0) == 2) target.Take(rest);
    rest = rest.From(size);
  }
  if (source.twice || target.twice) return;
  r.layout.nd = true;
  r.key.present |= kPresentNd;
  message.CopyTo(r.key.nd_target, 8, 16);
  if (source.at != 0) r.key.present |= kPresentNdSource;
  if (target.at != 0) r.key.present |= kPresentNdTarget;
  r.source_link_at = source.at;
  r.target_link_at = target.at;
  std::copy(source.address.begin(), source.address.end(), r.key.arp_sha);
  std::copy(target.address.begin(), target.address.end(), r.key.arp_tha);
}

void Transport(const Slice& l4, ReferenceResult& r) {
  size_t needed = 0;
  bool icmp = false;
  if (r.layout.ip_proto == 6) needed = 20;
  if (r.layout.ip_proto == 17) needed = 8;
  if (r.layout.ip_proto == 132) needed = 12;
  if (r.layout.ip_proto == 1 && r.layout.eth_type == 0x0800) needed = 8, icmp = true;
  if (r.layout.ip_proto == 58 && r.layout.eth_type == 0x86dd) needed = 8, icmp = true;
  if (needed == 0 || r.layout.ip_frag >= 2) return;
  if (l4.size() < needed && r.layout.ip_proto == 58 && l4.size() >= 4) {
    r.layout.l4 = static_cast<uint32_t>(l4.begin());
    r.header_bytes = l4.begin() + 4;
  }
  if (l4.size() < needed) return;
  r.layout.l4 = static_cast<uint32_t>(l4.begin());
  r.header_bytes = l4.begin() + needed;
  if (r.layout.ip_proto == 6 && (l4.at(12) / 16 < 5 || l4.at(12) / 16 * 4u > l4.size())) return;
  r.layout.l4_fields = true;
  r.key.present |= kPresentL4;
  l4.CopyTo(&r.key.l4_src, 0, 2);
  if (!icmp) l4.CopyTo(&r.key.l4_dst, 2, 2);
  if (r.layout.ip_proto == 6) r.key.tcp_flags = Net16(l4.U16(12) % 4096);
  if (r.layout.ip_proto == 58) Neighbor(l4, r);
}

void Network(const Slice& l3, ReferenceResult& r, uint8_t proto, uint8_t frag, uint8_t tos, uint8_t ttl) {
  r.key.present |= kPresentL3 | kPresentIp;
  r.key.ip_proto = r.layout.ip_proto = proto;
  r.key.ip_frag = r.layout.ip_frag = frag;
  r.key.ip_tos = tos;
  r.key.ip_ttl = ttl;
  r.layout.l3 = static_cast<uint16_t>(l3.begin());
}

ParseResult Ipv4(const Slice& l3, ReferenceResult& r) {
  if (l3.size() < 20) return ParseResult::kMalformed;
  r.header_bytes = l3.begin() + 20;
  const size_t header = l3.at(0) % 16 * 4;
  const size_t total = l3.U16(2);
  if (l3.at(0) / 16 != 4 || header < 20 || header > total || total > l3.size()) return ParseResult::kMalformed;
  const bool later = l3.U16(6) % 8192 != 0;
  const bool more = l3.U16(6) / 8192 % 2 != 0;
  l3.CopyTo(&r.key.ipv4_src, 12, 4);
  l3.CopyTo(&r.key.ipv4_dst, 16, 4);
  Network(l3, r, l3.at(9), later ? 3 : more ? 1 : 0, l3.at(1), l3.at(8));
  r.ip_end = l3.begin() + total;
  Transport(l3.Upto(total).From(header), r);
  return ParseResult::kOk;
}

ParseResult Ipv6(const Slice& l3, ReferenceResult& r) {
  if (l3.size() < 40) return ParseResult::kMalformed;
  r.header_bytes = l3.begin() + 40;
  if (l3.at(0) / 16 != 6 || 40 + l3.U16(4) > l3.size()) return ParseResult::kMalformed;
  l3.CopyTo(r.key.ipv6_src, 8, 16);
  l3.CopyTo(r.key.ipv6_dst, 24, 16);
  r.key.present |= kPresentL3;
  Slice rest = l3.Upto(40 + l3.U16(4)).From(40);
  uint8_t proto = l3.at(6);
  uint8_t frag = 0;
  while (frag < 2 && (proto == 0 || proto == 43 || proto == 44 || proto == 51 || proto == 60)) {
    if (rest.size() < 8) return ParseResult::kMalformed;
    r.header_bytes = rest.begin() + 8;
    size_t size = 8 + rest.at(1) * 8u;
    if (proto == 51) size = 8 + rest.at(1) * 4u;
    if (proto == 44) size = 8;
    if (rest.size() < size) return ParseResult::kMalformed;
    const uint8_t next = rest.at(0);
    if (proto == 44 && rest.U16(2) >= 8) {
      frag = 3;
    } else {
      if (proto == 44 && rest.U16(2) > 0) frag = 1;
      proto = next;
    }
    rest = rest.From(size);
  }
  Network(l3, r, proto, frag, static_cast<uint8_t>(l3.U16(0) / 16 % 256), l3.at(7));
  r.key.ipv6_label = Net32((l3.U16(0) % 16) << 16 | l3.U16(2));
  r.ip_end = rest.end();
  Transport(rest, r);
  return ParseResult::kOk;
}

ParseResult Arp(const Slice& l3, ReferenceResult& r) {
  if (l3.size() < 8) return ParseResult::kMalformed;
  r.header_bytes = l3.begin() + 8;
  if (l3.size() < 8 + 2u * l3.at(4) + 2u * l3.at(5)) return ParseResult::kMalformed;
  if (l3.U16(0) != 1 || l3.U16(2) != 0x0800 || l3.at(4) != 6 || l3.at(5) != 4) return ParseResult::kOk;
  r.header_bytes = l3.begin() + 28;
  r.key.present |= kPresentL3;
  r.layout.l3 = static_cast<uint16_t>(l3.begin());
  l3.CopyTo(&r.key.l4_src, 6, 2);
  l3.CopyTo(r.key.arp_sha, 8, 6);
  l3.CopyTo(&r.key.ipv4_src, 14, 4);
  l3.CopyTo(r.key.arp_tha, 18, 6);
  l3.CopyTo(&r.key.ipv4_dst, 24, 4);
  return ParseResult::kOk;
}

ParseResult Mpls(const Slice& stack, ReferenceResult& r) {
  if (stack.size() < 4) return ParseResult::kOk;
  r.header_bytes = stack.begin() + 4;
  r.key.present |= kPresentMpls;
  r.layout.mpls = static_cast<uint16_t>(stack.begin());
  stack.CopyTo(&r.key.mpls_lse, 0, 4);
  return ParseResult::kOk;
}

// Tags and LLC; returns what follows the EtherType.
Slice Link(const Slice& whole, ReferenceResult& r) {
  Slice rest = whole.From(12);
  while (r.layout.vlan_tags < 2 && (rest.U16(0) == 0x8100 || rest.U16(0) == 0x88a8) && rest.size() >= 6) {
    (r.layout.vlan_tags == 0 ? r.key.vlan_tci : r.key.inner_vlan_tci) = Net16(rest.U16(2) | 0x1000);
    ++r.layout.vlan_tags;
    rest = rest.From(4);
  }
  unsigned type = rest.U16(0);
  rest = rest.From(2);
  r.header_bytes = rest.begin();
  if (type < 0x600) {
    const bool has_snap = rest.size() >= 8;
    const bool oui_zero = has_snap && rest.U16(0) == 0xaaaa && rest.U16(2) == 0x0300 && rest.U16(4) == 0;
    type = 0x05ff;
    if (has_snap) r.header_bytes = rest.begin() + 8;
    if (oui_zero && rest.U16(6) >= 0x600) {
      type = rest.U16(6);
      rest = rest.From(8);
    }
  }
  r.layout.eth_type = static_cast<uint16_t>(type);
  r.key.eth_type = Net16(type);
  return rest;
}

Bytes Cut(const Bytes& bytes, size_t begin, size_t end) {
  return Bytes(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(end));
}

void Append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void Put16(Bytes& bytes, size_t at, unsigned value) {
  bytes.at(at) = static_cast<uint8_t>(value >> 8);
  bytes.at(at + 1) = static_cast<uint8_t>(value);
}

// The checksum field at `at` of `covered` is what it should be.
bool IsRight(Bytes covered, size_t at) {
  const unsigned found = covered.at(at) * 256u + covered.at(at + 1);
  Put16(covered, at, 0);
  return found == SlowChecksum(covered);
}

// Addresses, length and protocol as RFC 9293 and RFC 8200 have them: with
// segments left, the destination is the routing header's last one.
Bytes PseudoHeader(const Bytes& frame, const ReferenceResult& r) {
  const size_t l3 = r.layout.l3;
  const size_t length = r.ip_end - r.layout.l4;
  if (r.layout.eth_type == 0x0800) {
    Bytes pseudo = Cut(frame, l3 + 12, l3 + 20);
    Append(pseudo, {0, r.layout.ip_proto, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)});
    return pseudo;
  }
  Bytes pseudo = Cut(frame, l3 + 8, l3 + 40);
  uint8_t type = frame.at(l3 + 6);
  for (size_t at = l3 + 40; at < r.layout.l4;) {
    if (type == 43 && frame.at(at + 3) > 0) {
      std::copy_n(frame.begin() + static_cast<ptrdiff_t>(at + 8), 16, pseudo.begin() + 16);
    }
    const size_t units = frame.at(at + 1);
    const size_t size = type == 44 ? 8 : type == 51 ? 8 + units * 4 : 8 + units * 8;
    type = frame.at(at);
    at += size;
  }
  Append(pseudo, {0, 0, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length), 0, 0, 0, r.layout.ip_proto});
  return pseudo;
}

std::string TransportErrors(const Bytes& frame, const ReferenceResult& r) {
  const Bytes segment = Cut(frame, r.layout.l4, r.ip_end);
  Bytes covered = PseudoHeader(frame, r);
  const size_t pseudo = covered.size();
  Append(covered, segment);
  switch (r.layout.ip_proto) {
    case 1:
      return IsRight(segment, 2) ? "" : "ICMP checksum";
    case 6:
      return IsRight(covered, pseudo + 16) ? "" : "TCP checksum";
    case 17: {
      const unsigned found = segment.at(6) * 256u + segment.at(7);
      Put16(covered, pseudo + 6, 0);
      const uint16_t right = SlowChecksum(covered);
      return found == 0 || found == (right == 0 ? 0xffff : right) ? "" : "UDP checksum";
    }
    case 58:
      return IsRight(covered, pseudo + 2) ? "" : "ICMPv6 checksum";
    default: {
      Bytes zeroed = segment;
      std::fill_n(zeroed.begin() + 8, 4, uint8_t{0});
      const uint32_t right = SlowCrc32c(zeroed);
      for (size_t i = 0; i < 4; ++i) {
        if (segment.at(8 + i) != static_cast<uint8_t>(right >> (8 * i))) return "SCTP CRC";
      }
      return "";
    }
  }
}

size_t PayloadAt(const Bytes& frame, const HeaderLayout& layout) {
  return layout.l3 + (layout.eth_type == 0x0800 ? frame.at(layout.l3) % 16 * 4u : 40u);
}

void RenewIpv4Header(Bytes& frame, size_t l3) {
  Put16(frame, l3 + 10, 0);
  Put16(frame, l3 + 10, SlowChecksum(Cut(frame, l3, l3 + frame.at(l3) % 16 * 4u)));
}

}  // namespace

ReferenceResult ReferenceParse(const Bytes& frame, uint32_t in_port) {
  ReferenceResult r;
  if (frame.size() < 14) {
    r.result = ParseResult::kTooShort;
    return r;
  }
  const Slice whole(frame, 0, frame.size());
  r.key.in_port = in_port;
  whole.CopyTo(r.key.eth_dst, 0, 6);
  whole.CopyTo(r.key.eth_src, 6, 6);
  const Slice l3 = Link(whole, r);
  if (r.layout.eth_type == 0x0800) r.result = Ipv4(l3, r);
  if (r.layout.eth_type == 0x86dd) r.result = Ipv6(l3, r);
  if (r.layout.eth_type == 0x0806) r.result = Arp(l3, r);
  if (r.layout.eth_type == 0x8847 || r.layout.eth_type == 0x8848) r.result = Mpls(l3, r);
  return r;
}

std::string ChecksumErrors(const Bytes& frame) {
  const ReferenceResult r = ReferenceParse(frame, 0);
  if (r.result != ParseResult::kOk) return "malformed";
  if (r.layout.l3 != 0 && r.layout.eth_type == 0x0800) {
    if (!IsRight(Cut(frame, r.layout.l3, PayloadAt(frame, r.layout)), 10)) return "IPv4 header checksum";
  }
  if (r.layout.l4 == 0 || r.layout.ip_frag != 0) return "";
  return TransportErrors(frame, r);
}

std::vector<Bytes> SplitIntoFragments(const Bytes& frame, size_t size) {
  const ReferenceResult r = ReferenceParse(frame, 0);
  const size_t l3 = r.layout.l3;
  const size_t payload = PayloadAt(frame, r.layout);
  std::vector<Bytes> fragments;
  for (size_t at = payload; at < r.ip_end; at += size) {
    const size_t end = std::min(at + size, r.ip_end);
    const unsigned offset = static_cast<unsigned>(at - payload);
    const bool more = end < r.ip_end;
    Bytes fragment = Cut(frame, 0, payload);
    if (r.layout.eth_type == 0x0800) {
      Put16(fragment, l3 + 2, static_cast<unsigned>(payload - l3 + end - at));
      Put16(fragment, l3 + 6, (more ? 0x2000u : 0u) | offset / 8);
      RenewIpv4Header(fragment, l3);
    } else {
      Put16(fragment, l3 + 4, static_cast<unsigned>(8 + end - at));
      Append(fragment, {frame.at(l3 + 6), 0, static_cast<uint8_t>(offset >> 8),
                        static_cast<uint8_t>((offset & 0xf8) | (more ? 1 : 0)), 0, 0, 0x12, 0x34});
      fragment.at(l3 + 6) = 44;
    }
    Append(fragment, Cut(frame, at, end));
    fragments.push_back(std::move(fragment));
  }
  return fragments;
}

Bytes JoinFragments(const std::vector<Bytes>& fragments) {
  const ReferenceResult first = ReferenceParse(fragments.at(0), 0);
  const size_t l3 = first.layout.l3;
  const size_t payload = PayloadAt(fragments.at(0), first.layout);
  const bool ipv4 = first.layout.eth_type == 0x0800;
  Bytes frame = Cut(fragments.at(0), 0, payload);
  if (!ipv4) frame.at(l3 + 6) = fragments.at(0).at(payload);
  for (const Bytes& fragment : fragments) {
    const ReferenceResult r = ReferenceParse(fragment, 0);
    Append(frame, Cut(fragment, PayloadAt(fragment, r.layout) + (ipv4 ? 0 : 8), r.ip_end));
  }
  if (ipv4) {
    Put16(frame, l3 + 2, static_cast<unsigned>(frame.size() - l3));
    Put16(frame, l3 + 6, 0);
    RenewIpv4Header(frame, l3);
  } else {
    Put16(frame, l3 + 4, static_cast<unsigned>(frame.size() - payload));
  }
  return frame;
}

}  // namespace sluice
