#include "tests/fuzz/rewrite_model.h"

#include <array>
#include <utility>

namespace sluice::fuzz {
namespace {

constexpr size_t kTags = 12;  // where tags stand
constexpr size_t kMaxParsedTags = 2;

using Range = std::pair<size_t, size_t>;  // first, one behind the last

bool IsIpv4(const HeaderLayout& layout) { return layout.l3 != 0 && layout.eth_type == 0x0800; }
bool IsIpv6(const HeaderLayout& layout) { return layout.l3 != 0 && layout.eth_type == 0x86dd; }
bool IsVlanField(Field field) { return field == Field::kVlanVid || field == Field::kVlanPcp; }

bool IsNdField(Field field) { return field == Field::kNdTarget || field == Field::kNdSll || field == Field::kNdTll; }

enum class Header { kEthernet, kTag, kMpls, kArp, kIpv4, kIpv6, kIcmp, kTcp, kUdp, kIcmpv6, kSctp };

bool Has(const HeaderLayout& layout, Header header) {
  switch (header) {
    case Header::kEthernet:
      return true;
    case Header::kTag:
      return layout.vlan_tags > 0;
    case Header::kMpls:
      return layout.mpls != 0;
    case Header::kArp:
      return layout.l3 != 0 && layout.eth_type == 0x0806;
    case Header::kIpv4:
      return IsIpv4(layout);
    case Header::kIpv6:
      return IsIpv6(layout);
    default:
      break;
  }
  constexpr uint8_t kProtocols[] = {1, 6, 17, 58, 132};
  return layout.l4_fields && layout.ip_proto == kProtocols[static_cast<int>(header) - static_cast<int>(Header::kIcmp)];
}

// The bytes in which a field's bits lie, from the header's beginning.
struct Place {
  Field field;
  Header header;
  size_t offset;
  size_t size;
};
constexpr Place kPlaces[] = {
    {Field::kEthDst, Header::kEthernet, 0, 6},   {Field::kEthSrc, Header::kEthernet, 6, 6},
    {Field::kVlanVid, Header::kTag, 14, 2},      {Field::kVlanPcp, Header::kTag, 14, 2},
    {Field::kArpOp, Header::kArp, 6, 2},         {Field::kArpSpa, Header::kArp, 14, 4},
    {Field::kArpTpa, Header::kArp, 24, 4},       {Field::kIpv4Src, Header::kIpv4, 12, 4},
    {Field::kIpv4Dst, Header::kIpv4, 16, 4},     {Field::kIpv6Src, Header::kIpv6, 8, 16},
    {Field::kIpv6Dst, Header::kIpv6, 24, 16},    {Field::kIpDscp, Header::kIpv4, 1, 1},
    {Field::kIpDscp, Header::kIpv6, 0, 2},       {Field::kIpEcn, Header::kIpv4, 1, 1},
    {Field::kIpEcn, Header::kIpv6, 1, 1},        {Field::kIpTtl, Header::kIpv4, 8, 1},
    {Field::kIpTtl, Header::kIpv6, 7, 1},        {Field::kTcpSrc, Header::kTcp, 0, 2},
    {Field::kTcpDst, Header::kTcp, 2, 2},        {Field::kUdpSrc, Header::kUdp, 0, 2},
    {Field::kUdpDst, Header::kUdp, 2, 2},        {Field::kSctpSrc, Header::kSctp, 0, 2},
    {Field::kSctpDst, Header::kSctp, 2, 2},      {Field::kIcmpv4Type, Header::kIcmp, 0, 1},
    {Field::kIcmpv4Code, Header::kIcmp, 1, 1},   {Field::kIcmpv6Type, Header::kIcmpv6, 0, 1},
    {Field::kIcmpv6Code, Header::kIcmpv6, 1, 1}, {Field::kMplsLabel, Header::kMpls, 0, 3},
    {Field::kMplsTc, Header::kMpls, 2, 1},       {Field::kMplsTtl, Header::kMpls, 3, 1},
    {Field::kArpSha, Header::kArp, 8, 6},        {Field::kArpTha, Header::kArp, 18, 6},
    {Field::kIpv6Label, Header::kIpv6, 1, 3},
};

// Null if the frame lacks the field or it is not writable.
const Place* PlaceOf(const HeaderLayout& layout, Field field) {
  for (const Place& place : kPlaces) {
    if (place.field == field && Has(layout, place.header)) return &place;
  }
  return nullptr;
}

// Of a field of neighbour discovery; {0, 0} if the message lacks it.
Range NdBytes(const Reading& reading, Field field) {
  if (!reading.nd || !reading.inner.layout.nd) return {0, 0};
  size_t at = reading.inner.layout.l4 + 8u;
  if (field == Field::kNdSll) at = reading.inner.source_link_at;
  if (field == Field::kNdTll) at = reading.inner.target_link_at;
  if (at == 0) return {0, 0};
  at += reading.hidden;
  return {at, at + (field == Field::kNdTarget ? 16 : 6)};
}

Range BytesOf(const Reading& reading, Field field) {
  if (IsNdField(field)) return NdBytes(reading, field);
  const HeaderLayout layout = reading.Layout();
  const Place& place = *PlaceOf(layout, field);
  size_t header = 0;
  if (place.header == Header::kMpls) header = layout.mpls;
  if (place.header >= Header::kArp) header = layout.l3;
  if (place.header >= Header::kIcmp) header = layout.l4;
  return {header + place.offset, header + place.offset + place.size};
}

// The IPv4 header's checksum and the transport's; {0, 0} where there is none.
std::array<Range, 2> ChecksumBytes(const HeaderLayout& layout) {
  std::array<Range, 2> ranges{};
  if (IsIpv4(layout)) ranges[0] = {layout.l3 + 10u, layout.l3 + 12u};
  if (layout.l4 == 0) return ranges;
  const size_t offset = layout.ip_proto == 6 ? 16 : layout.ip_proto == 17 ? 6 : layout.ip_proto == 132 ? 8 : 2;
  ranges[1] = {layout.l4 + offset, layout.l4 + offset + (layout.ip_proto == 132 ? 4 : 2)};
  return ranges;
}

bool Within(size_t i, Range range) { return i >= range.first && i < range.second; }

// Ones' complement sum, in which both zeros are the same.
uint32_t Sum(const Bytes& bytes, size_t begin, size_t end) {
  uint64_t sum = 0;
  for (size_t i = begin; i < end; ++i) sum += (i - begin) % 2 == 0 ? bytes.at(i) * 256u : bytes.at(i);
  return static_cast<uint32_t>(sum % 65535);
}

// The final destination stands in a routing header, not in the IPv6 header.
bool HasSegmentsLeft(const Bytes& bytes, const ReferenceResult& r) {
  uint8_t type = bytes.at(r.layout.l3 + 6u);
  for (size_t at = r.layout.l3 + 40u; at < r.layout.l4;) {
    if (type == 43 && bytes.at(at + 3) > 0) return true;
    const size_t units = bytes.at(at + 1);
    const size_t size = type == 44 ? 8 : type == 51 ? 8 + units * 4 : 8 + units * 8;
    type = bytes.at(at);
    at += size;
  }
  return false;
}

uint32_t SumWithAddresses(const Bytes& bytes, const ReferenceResult& r) {
  const size_t l3 = r.layout.l3;
  uint32_t sum = Sum(bytes, r.layout.l4, r.ip_end);
  if (r.layout.ip_proto == 1) return sum;
  if (IsIpv4(r.layout)) return (sum + Sum(bytes, l3 + 12, l3 + 20)) % 65535;
  sum += Sum(bytes, l3 + 8, l3 + 24);
  if (!HasSegmentsLeft(bytes, r)) sum += Sum(bytes, l3 + 24, l3 + 40);
  return sum % 65535;
}

// How wrong the transport's checksum is: the same number before and after.
uint64_t TransportResidue(const Bytes& bytes, const ReferenceResult& r) {
  if (r.layout.l4 == 0) return 0;
  if (r.layout.ip_proto == 17 && bytes.at(r.layout.l4 + 6u) == 0 && bytes.at(r.layout.l4 + 7u) == 0) return 1 << 16;
  if (r.layout.ip_proto != 132) return SumWithAddresses(bytes, r);
  Bytes segment(bytes.begin() + r.layout.l4, bytes.begin() + static_cast<ptrdiff_t>(r.ip_end));
  uint32_t crc = 0;
  for (size_t i = 0; i < 4; ++i) crc |= uint32_t{std::exchange(segment.at(8 + i), uint8_t{0})} << (8 * i);
  return crc ^ SlowCrc32c(segment);
}

uint32_t Ipv4Residue(const Bytes& bytes, const ReferenceResult& r) {
  return IsIpv4(r.layout) ? Sum(bytes, r.layout.l3, r.layout.l3 + bytes.at(r.layout.l3) % 16 * 4u) : 0;
}

void ForgetNd(PacketKey& key, HeaderLayout& layout) {
  key.present &= static_cast<uint16_t>(~(kPresentNd | kPresentNdSource | kPresentNdTarget));
  std::fill_n(key.nd_target, sizeof key.nd_target, uint8_t{0});
  std::fill_n(key.arp_sha, sizeof key.arp_sha, uint8_t{0});
  std::fill_n(key.arp_tha, sizeof key.arp_tha, uint8_t{0});
  layout.nd = false;
}

// The key after the change is the one before with the field put in. ICMPv6's type
// and code say whether the bytes behind them are neighbour discovery.
bool KeyIsRight(const ReferenceResult& before, const ReferenceResult& after, bool changed, Field field,
                absl::uint128 value) {
  PacketKey expected = before.key, key = after.key;
  HeaderLayout expected_layout = before.layout, layout = after.layout;
  if (changed) PutField(expected, field, value);
  if (field == Field::kIcmpv6Type || field == Field::kIcmpv6Code) {
    ForgetNd(expected, expected_layout);
    ForgetNd(key, layout);
  }
  return key == expected && layout == expected_layout && after.result == before.result;
}

bool HasPlace(const ReferenceResult& reading, Field field) {
  return IsNdField(field) ? reading.layout.nd : PlaceOf(reading.layout, field) != nullptr;
}

Bytes WithoutHidden(const Bytes& bytes, size_t hidden) {
  Bytes inner = bytes;
  inner.erase(inner.begin() + kTags, inner.begin() + static_cast<ptrdiff_t>(kTags + hidden));
  return inner;
}

}  // namespace

Reading::Reading(const Bytes& frame, const HeaderLayout& layout)
    : bytes(frame),
      hidden(layout.vlan_tags > kMaxParsedTags ? (layout.vlan_tags - kMaxParsedTags) * 4 : 0),
      nd(layout.nd),
      outer(ReferenceParse(frame, 1)),
      inner(hidden == 0 ? outer : ReferenceParse(WithoutHidden(frame, hidden), 1)) {}

HeaderLayout Reading::Layout() const {
  HeaderLayout layout = inner.layout;
  layout.vlan_tags = static_cast<uint16_t>(layout.vlan_tags + hidden / 4);
  if (layout.l3 != 0) layout.l3 = static_cast<uint16_t>(layout.l3 + hidden);
  if (layout.l4 != 0) layout.l4 += static_cast<uint32_t>(hidden);
  if (layout.mpls != 0) layout.mpls = static_cast<uint16_t>(layout.mpls + hidden);
  layout.nd = nd;
  return layout;
}

bool HasField(const Reading& reading, Field field) {
  if (IsNdField(field)) return NdBytes(reading, field) != Range{0, 0};
  return PlaceOf(reading.inner.layout, field) != nullptr;
}

size_t PayloadAt(const Reading& reading) {
  const size_t type_at = kTags + 4u * reading.Layout().vlan_tags;
  const unsigned type = reading.bytes.at(type_at) * 256u + reading.bytes.at(type_at + 1);
  const bool snap = type < 0x600 && reading.inner.layout.eth_type != 0x05ff;
  return type_at + (snap ? 10 : 2);
}

uint32_t EntryToPush(const Reading& reading) {
  const ReferenceResult& r = reading.inner;
  if (r.layout.mpls != 0) {
    uint32_t entry = 0;
    for (size_t i = 0; i < 4; ++i) entry = entry << 8 | reading.bytes.at(reading.Layout().mpls + i);
    return entry & 0xfffffeff;
  }
  const bool ip = IsIpv4(r.layout) || IsIpv6(r.layout);
  const uint32_t label = r.layout.eth_type == 0x86dd ? 2 : 0;
  const uint32_t tc = ip ? r.key.ip_tos / 4 % 8 : 0;
  const uint32_t ttl = ip && r.key.ip_ttl != 0 ? r.key.ip_ttl : 64;
  return label * 4096 + tc * 512 + 256 + ttl;
}

absl::uint128 ReadField(const Reading& reading, Field field) {
  return GetField((IsVlanField(field) ? reading.outer : reading.inner).key, field);
}

std::string JudgeChange(const Reading& before, const Reading& after, Field field, absl::uint128 value) {
  if (after.bytes.size() != before.bytes.size()) return "the length changed";
  const HeaderLayout layout = before.Layout();
  const Range own = BytesOf(before, field);
  const std::array<Range, 2> checksums = ChecksumBytes(layout);
  for (size_t i = 0; i < after.bytes.size(); ++i) {
    if (after.bytes[i] == before.bytes[i] || Within(i, own)) continue;
    if (Within(i, checksums[0]) || Within(i, checksums[1])) continue;
    return "byte " + std::to_string(i) + " changed";
  }
  // The flow label's upper bits share a byte with TOS.
  if (field != Field::kIpv6Label && IsIpv6(before.inner.layout) &&
      ((after.bytes.at(layout.l3 + 1u) ^ before.bytes.at(layout.l3 + 1u)) & 0x0f) != 0) {
    return "the flow label changed";
  }
  const bool below_hidden = before.hidden != 0 && IsVlanField(field);
  if (!KeyIsRight(before.outer, after.outer, HasPlace(before.outer, field), field, value)) return "the key is wrong";
  if (!KeyIsRight(before.inner, after.inner, !below_hidden && HasPlace(before.inner, field), field, value)) {
    return "the key below the tags is wrong";
  }
  const Bytes inner_before = WithoutHidden(before.bytes, before.hidden);
  const Bytes inner_after = WithoutHidden(after.bytes, after.hidden);
  if (Ipv4Residue(inner_before, before.inner) != Ipv4Residue(inner_after, after.inner)) return "IPv4's checksum";
  if (TransportResidue(inner_before, before.inner) != TransportResidue(inner_after, after.inner)) {
    return "the transport's checksum";
  }
  // Of the two zeros of ones' complement, a sender writes but one.
  if (ChecksumErrors(inner_before).empty()) return ChecksumErrors(inner_after);
  return "";
}

}  // namespace sluice::fuzz
