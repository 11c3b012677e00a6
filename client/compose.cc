#include "client/compose.h"

#include <algorithm>
#include <map>
#include <optional>

#include "client/field_table.h"

namespace sluice::client {
namespace {

constexpr size_t kShortest = 60;
constexpr uint64_t kCustomerTag = 0x8100, kServiceTag = 0x88a8;
constexpr uint64_t kIpv4 = 0x0800, kArp = 0x0806, kIpv6 = 0x86dd, kMpls = 0x8847, kMplsMulticast = 0x8848;
constexpr uint64_t kIcmp = 1, kTcp = 6, kUdp = 17, kFragmentHeader = 44, kIcmpv6 = 58, kSctp = 132;
constexpr uint64_t kSolicitation = 135, kAdvertisement = 136;
constexpr uint64_t kAnyFragment = 1, kLaterFragment = 2;  // bits of ip_frag
constexpr uint64_t kMoreFragments = 0x2000, kSomeOffset = 185;
constexpr uint64_t kUsualTtl = 64;

// Big-endian numbers, one after the other.
class Bytes {
 public:
  Bytes& Put(absl::uint128 value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i)
      text_.push_back(static_cast<char>(absl::Uint128Low64(value >> (8 * i) & 0xff)));
    return *this;
  }
  Bytes& Put(const std::string& bytes) {
    text_ += bytes;
    return *this;
  }
  void Set(size_t at, uint16_t value) {
    text_[at] = static_cast<char>(value >> 8);
    text_[at + 1] = static_cast<char>(value & 0xff);
  }
  std::string& text() { return text_; }

 private:
  std::string text_;
};

// RFC 1071.
uint16_t Checksum(const std::string& bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (i % 2 == 0 ? 8 : 0);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// RFC 4960: the reflected CRC32c, least significant byte first.
uint32_t Crc32c(const std::string& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
  }
  return __builtin_bswap32(~crc);
}

class Composer {
 public:
  explicit Composer(const v1::Match& match) {
    for (const v1::FieldMatch& field : match.fields()) {
      fields_[field.field()] = GetValue(InfoOf(field.field()), field).value;
    }
  }

  std::string Frame() {
    Bytes frame;
    frame.Put(Get(v1::FIELD_ETH_DST), 6).Put(Get(v1::FIELD_ETH_SRC), 6);
    Tags(frame);
    frame.Put(Get(v1::FIELD_ETH_TYPE), 2).Put(Payload());
    std::string bytes = std::move(frame.text());
    if (bytes.size() < kShortest) bytes.append(kShortest - bytes.size(), '\0');
    return bytes;
  }

 private:
  absl::uint128 Get(v1::Field field, absl::uint128 otherwise = 0) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? otherwise : found->second;
  }
  uint64_t Low(v1::Field field, uint64_t otherwise = 0) const { return absl::Uint128Low64(Get(field, otherwise)); }
  bool Has(std::initializer_list<v1::Field> fields) const {
    return std::ranges::any_of(fields, [this](v1::Field field) { return fields_.contains(field); });
  }

  // VID and PCP, or all of the TCI; none: no tag.
  std::optional<uint64_t> Tci(v1::Field present, v1::Field vid, v1::Field pcp, v1::Field tci) const {
    if (Low(present) == 0 && !Has({vid, pcp, tci})) return std::nullopt;
    return Low(tci) | Low(vid) | Low(pcp) << 13;
  }

  void Tags(Bytes& frame) const {
    const auto inner =
        Tci(v1::FIELD_INNER_VLAN_PRESENT, v1::FIELD_INNER_VLAN_VID, v1::FIELD_INNER_VLAN_PCP, v1::FIELD_INNER_VLAN_TCI);
    auto outer = Tci(v1::FIELD_VLAN_PRESENT, v1::FIELD_VLAN_VID, v1::FIELD_VLAN_PCP, v1::FIELD_VLAN_TCI);
    if (inner.has_value() && !outer.has_value()) outer = 0;
    if (outer.has_value()) frame.Put(inner.has_value() ? kServiceTag : kCustomerTag, 2).Put(*outer, 2);
    if (inner.has_value()) frame.Put(kCustomerTag, 2).Put(*inner, 2);
  }

  std::string Payload() const {
    switch (Low(v1::FIELD_ETH_TYPE)) {
      case kIpv4:
        return Ipv4();
      case kIpv6:
        return Ipv6();
      case kArp:
        return Arp();
      case kMpls:
      case kMplsMulticast:
        return std::move(Bytes()
                             .Put(Low(v1::FIELD_MPLS_LABEL) << 12 | Low(v1::FIELD_MPLS_TC) << 9 |
                                      Low(v1::FIELD_MPLS_BOS, 1) << 8 | Low(v1::FIELD_MPLS_TTL, kUsualTtl),
                                  4)
                             .text());
      default:
        return "";
    }
  }

  std::string Arp() const {
    Bytes arp;
    arp.Put(1, 2).Put(kIpv4, 2).Put(6, 1).Put(4, 1).Put(Get(v1::FIELD_ARP_OP), 2);
    arp.Put(Get(v1::FIELD_ARP_SHA), 6).Put(Get(v1::FIELD_ARP_SPA), 4);
    arp.Put(Get(v1::FIELD_ARP_THA), 6).Put(Get(v1::FIELD_ARP_TPA), 4);
    return std::move(arp.text());
  }

  uint64_t TrafficClass() const { return Low(v1::FIELD_IP_DSCP) << 2 | Low(v1::FIELD_IP_ECN); }

  std::string Ipv4() const {
    const uint64_t fragment = Low(v1::FIELD_IP_FRAG);
    const std::string payload = Transport(Bytes().Put(Get(v1::FIELD_IPV4_SRC), 4).Put(Get(v1::FIELD_IPV4_DST), 4));
    Bytes header;
    header.Put(0x45, 1).Put(TrafficClass(), 1).Put(20 + payload.size(), 2).Put(0, 2);
    header.Put((fragment & kLaterFragment) != 0 ? kSomeOffset : (fragment & kAnyFragment) != 0 ? kMoreFragments : 0, 2);
    header.Put(Low(v1::FIELD_IP_TTL, kUsualTtl), 1).Put(Get(v1::FIELD_IP_PROTO), 1).Put(0, 2);
    header.Put(Get(v1::FIELD_IPV4_SRC), 4).Put(Get(v1::FIELD_IPV4_DST), 4);
    header.Set(10, Checksum(header.text()));
    return std::move(header.Put(payload).text());
  }

  std::string Ipv6() const {
    const uint64_t fragment = Low(v1::FIELD_IP_FRAG);
    std::string payload = Transport(Bytes().Put(Get(v1::FIELD_IPV6_SRC), 16).Put(Get(v1::FIELD_IPV6_DST), 16));
    uint64_t next = Low(v1::FIELD_IP_PROTO);
    if (fragment != 0) {
      Bytes extension;
      // Later ones match as protocol 44; what they carry is not known.
      extension.Put((fragment & kLaterFragment) != 0 ? 0 : next, 1).Put(0, 1);
      extension.Put((fragment & kLaterFragment) != 0 ? kSomeOffset << 3 : 1, 2).Put(0, 4);
      payload = extension.text() + payload;
      next = kFragmentHeader;
    }
    Bytes header;
    header.Put(uint64_t{6} << 28 | TrafficClass() << 20 | Low(v1::FIELD_IPV6_LABEL), 4).Put(payload.size(), 2);
    header.Put(next, 1).Put(Low(v1::FIELD_IP_TTL, kUsualTtl), 1);
    header.Put(Get(v1::FIELD_IPV6_SRC), 16).Put(Get(v1::FIELD_IPV6_DST), 16).Put(payload);
    return std::move(header.text());
  }

  // `pseudo`: the addresses, which checksums cover.
  std::string Transport(Bytes pseudo) const {
    if ((Low(v1::FIELD_IP_FRAG) & kLaterFragment) != 0) return "";
    switch (Low(v1::FIELD_IP_PROTO)) {
      case kTcp: {
        Bytes tcp;
        tcp.Put(Get(v1::FIELD_TCP_SRC), 2).Put(Get(v1::FIELD_TCP_DST), 2).Put(0, 8);
        tcp.Put(uint64_t{5} << 12 | Low(v1::FIELD_TCP_FLAGS), 2).Put(0, 6);
        return WithChecksum(tcp, 16, pseudo, kTcp);
      }
      case kUdp: {
        Bytes udp;
        udp.Put(Get(v1::FIELD_UDP_SRC), 2).Put(Get(v1::FIELD_UDP_DST), 2).Put(8, 2).Put(0, 2);
        return WithChecksum(udp, 6, pseudo, kUdp);
      }
      case kSctp: {
        Bytes sctp;
        sctp.Put(Get(v1::FIELD_SCTP_SRC), 2).Put(Get(v1::FIELD_SCTP_DST), 2).Put(0, 8);
        const uint32_t crc = Crc32c(sctp.text());
        sctp.Set(8, static_cast<uint16_t>(crc >> 16));
        sctp.Set(10, static_cast<uint16_t>(crc & 0xffff));
        return std::move(sctp.text());
      }
      case kIcmp: {
        Bytes icmp;
        icmp.Put(Get(v1::FIELD_ICMPV4_TYPE), 1).Put(Get(v1::FIELD_ICMPV4_CODE), 1).Put(0, 6);
        icmp.Set(2, Checksum(icmp.text()));
        return std::move(icmp.text());
      }
      case kIcmpv6:
        return Icmpv6(pseudo);
      default:
        return "";
    }
  }

  std::string Icmpv6(Bytes& pseudo) const {
    const uint64_t type = Low(v1::FIELD_ICMPV6_TYPE);
    Bytes icmp;
    icmp.Put(type, 1).Put(Get(v1::FIELD_ICMPV6_CODE), 1).Put(0, 6);
    if (type == kSolicitation || type == kAdvertisement) {
      icmp.Put(Get(v1::FIELD_ND_TARGET), 16);
      const v1::Field address = type == kSolicitation ? v1::FIELD_ND_SLL : v1::FIELD_ND_TLL;
      if (Has({address})) icmp.Put(type == kSolicitation ? 1 : 2, 1).Put(1, 1).Put(Get(address), 6);
    }
    return WithChecksum(icmp, 2, pseudo, kIcmpv6);
  }

  static std::string WithChecksum(Bytes& header, size_t at, Bytes& pseudo, uint64_t protocol) {
    pseudo.Put(header.text().size(), 4).Put(protocol, 4);
    const uint16_t sum = Checksum(pseudo.text() + header.text());
    header.Set(at, sum == 0 && protocol == kUdp ? 0xffff : sum);
    return std::move(header.text());
  }

  std::map<v1::Field, absl::uint128> fields_;
};

}  // namespace

std::string ComposeFrame(const v1::Match& match) { return Composer(match).Frame(); }

}  // namespace sluice::client
