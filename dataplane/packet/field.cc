#include "dataplane/packet/field.h"

#include <array>

#include "dataplane/packet/big_endian.h"

namespace sluice {
namespace {

constexpr uint8_t kTciAt = offsetof(PacketKey, vlan_tci);
constexpr uint8_t kInnerTciAt = offsetof(PacketKey, inner_vlan_tci);
constexpr uint8_t kPresentAt = offsetof(PacketKey, present);
constexpr uint16_t kTagged = __builtin_bswap16(kTciPresent);

constexpr FieldLayout Always(size_t offset, uint8_t size, uint8_t shift, uint8_t bits) {
  return {static_cast<uint8_t>(offset), size, shift, bits, 0, 0};
}

constexpr FieldLayout Tag(uint8_t tci_at, uint8_t shift, uint8_t bits) {
  return {tci_at, 2, shift, bits, tci_at, kTagged};
}

constexpr FieldLayout If(uint16_t present, size_t offset, uint8_t size, uint8_t shift, uint8_t bits) {
  return {static_cast<uint8_t>(offset), size, shift, bits, kPresentAt, present};
}

constexpr FieldLayout Label(uint8_t shift, uint8_t bits) {
  return If(kPresentMpls, offsetof(PacketKey, mpls_lse), 4, shift, bits);
}

using Layouts = std::array<FieldLayout, kFieldCount>;

constexpr FieldLayout& At(Layouts& layouts, Field field) { return layouts[static_cast<size_t>(field)]; }

constexpr void PlaceLink(Layouts& layouts) {
  const auto at = [&layouts](Field field) -> FieldLayout& { return At(layouts, field); };
  at(Field::kInPort) = Always(offsetof(PacketKey, in_port), 4, 0, 32);
  at(Field::kEthDst) = Always(offsetof(PacketKey, eth_dst), 6, 0, 48);
  at(Field::kEthSrc) = Always(offsetof(PacketKey, eth_src), 6, 0, 48);
  at(Field::kEthType) = Always(offsetof(PacketKey, eth_type), 2, 0, 16);
  at(Field::kVlanPresent) = Always(kTciAt, 2, 12, 1);
  at(Field::kVlanTci) = Always(kTciAt, 2, 0, 16);
  at(Field::kVlanVid) = Tag(kTciAt, 0, 12);
  at(Field::kVlanPcp) = Tag(kTciAt, 13, 3);
  at(Field::kInnerVlanPresent) = Always(kInnerTciAt, 2, 12, 1);
  at(Field::kInnerVlanTci) = Always(kInnerTciAt, 2, 0, 16);
  at(Field::kInnerVlanVid) = Tag(kInnerTciAt, 0, 12);
  at(Field::kInnerVlanPcp) = Tag(kInnerTciAt, 13, 3);
  at(Field::kMplsLabel) = Label(12, 20);
  at(Field::kMplsTc) = Label(9, 3);
  at(Field::kMplsBos) = Label(8, 1);
  at(Field::kMplsTtl) = Label(0, 8);
}

constexpr void PlaceNetwork(Layouts& layouts) {
  const auto at = [&layouts](Field field) -> FieldLayout& { return At(layouts, field); };
  at(Field::kArpOp) = If(kPresentL3, offsetof(PacketKey, l4_src), 2, 0, 16);
  at(Field::kArpSpa) = at(Field::kIpv4Src) = If(kPresentL3, offsetof(PacketKey, ipv4_src), 4, 0, 32);
  at(Field::kArpTpa) = at(Field::kIpv4Dst) = If(kPresentL3, offsetof(PacketKey, ipv4_dst), 4, 0, 32);
  at(Field::kArpSha) = If(kPresentL3, offsetof(PacketKey, arp_sha), 6, 0, 48);
  at(Field::kArpTha) = If(kPresentL3, offsetof(PacketKey, arp_tha), 6, 0, 48);
  at(Field::kIpv6Src) = If(kPresentL3, offsetof(PacketKey, ipv6_src), 16, 0, 128);
  at(Field::kIpv6Dst) = If(kPresentL3, offsetof(PacketKey, ipv6_dst), 16, 0, 128);
  at(Field::kIpv6Label) = If(kPresentIp, offsetof(PacketKey, ipv6_label), 4, 0, 20);
  at(Field::kIpProto) = If(kPresentIp, offsetof(PacketKey, ip_proto), 1, 0, 8);
  at(Field::kIpDscp) = If(kPresentIp, offsetof(PacketKey, ip_tos), 1, 2, 6);
  at(Field::kIpEcn) = If(kPresentIp, offsetof(PacketKey, ip_tos), 1, 0, 2);
  at(Field::kIpTtl) = If(kPresentIp, offsetof(PacketKey, ip_ttl), 1, 0, 8);
  at(Field::kIpFrag) = If(kPresentIp, offsetof(PacketKey, ip_frag), 1, 0, 2);
}

constexpr void PlaceTransport(Layouts& layouts) {
  const auto at = [&layouts](Field field) -> FieldLayout& { return At(layouts, field); };
  at(Field::kTcpSrc) = at(Field::kUdpSrc) = at(Field::kSctpSrc) = If(kPresentL4, offsetof(PacketKey, l4_src), 2, 0, 16);
  at(Field::kTcpDst) = at(Field::kUdpDst) = at(Field::kSctpDst) = If(kPresentL4, offsetof(PacketKey, l4_dst), 2, 0, 16);
  at(Field::kTcpFlags) = If(kPresentL4, offsetof(PacketKey, tcp_flags), 2, 0, 12);
  at(Field::kIcmpv4Type) = at(Field::kIcmpv6Type) = If(kPresentL4, offsetof(PacketKey, l4_src), 1, 0, 8);
  at(Field::kIcmpv4Code) = at(Field::kIcmpv6Code) = If(kPresentL4, offsetof(PacketKey, l4_src) + 1, 1, 0, 8);
  at(Field::kNdTarget) = If(kPresentNd, offsetof(PacketKey, nd_target), 16, 0, 128);
  at(Field::kNdSll) = If(kPresentNdSource, offsetof(PacketKey, arp_sha), 6, 0, 48);
  at(Field::kNdTll) = If(kPresentNdTarget, offsetof(PacketKey, arp_tha), 6, 0, 48);
}

constexpr void PlacePipeline(Layouts& layouts) {
  At(layouts, Field::kMetadata) = Always(offsetof(PacketKey, metadata), 8, 0, 64);
  for (size_t i = 0; i < std::size(PacketKey{}.registers); ++i) {
    layouts[static_cast<size_t>(Field::kReg0) + i] = Always(offsetof(PacketKey, registers) + 4 * i, 4, 0, 32);
  }
}

constexpr Layouts kLayouts = [] {
  Layouts layouts{};
  PlaceLink(layouts);
  PlaceNetwork(layouts);
  PlaceTransport(layouts);
  PlacePipeline(layouts);
  return layouts;
}();

static_assert(
    [] {
      for (int i = 1; i < kFieldCount; ++i) {
        if (kLayouts[i].bits == 0) return false;
      }
      return true;
    }(),
    "every field has a place");

absl::uint128 FieldBits(const FieldLayout& layout) {
  return (absl::Uint128Max() >> (128 - layout.bits)) << layout.shift;
}

}  // namespace

const FieldLayout& LayoutOf(Field field) { return kLayouts[static_cast<size_t>(field)]; }

absl::uint128 GetField(const PacketKey& key, Field field) {
  if (field == Field::kInPort) return key.in_port;
  const FieldLayout& layout = LayoutOf(field);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&key) + layout.offset;
  return (LoadBigSized(bytes, layout.size) & FieldBits(layout)) >> layout.shift;
}

void PutField(PacketKey& key, Field field, absl::uint128 value) {
  if (field == Field::kInPort) {
    key.in_port = static_cast<uint32_t>(value);
    return;
  }
  const FieldLayout& layout = LayoutOf(field);
  auto* bytes = reinterpret_cast<uint8_t*>(&key) + layout.offset;
  const absl::uint128 bits = FieldBits(layout);
  const absl::uint128 rest = LoadBigSized(bytes, layout.size) & ~bits;
  StoreBigSized(bytes, layout.size, rest | ((value << layout.shift) & bits));
}

}  // namespace sluice
