// Tags and label stack entries: what makes a frame longer or shorter.

#include <cstring>

#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/protocols.h"
#include "dataplane/packet/rewrite.h"

namespace sluice {
namespace {

constexpr uint32_t kAddresses = 12;

// Makes room for a header of `size` bytes at `at`.
void Insert(Frame& frame, uint32_t at, uint32_t size) {
  frame.data -= size;
  frame.headroom -= size;
  frame.length += size;
  frame.total += size;
  std::memmove(frame.data, frame.data + size, at);
}

void Remove(Frame& frame, uint32_t at, uint32_t size) {
  std::memmove(frame.data + size, frame.data, at);
  frame.data += size;
  frame.headroom += size;
  frame.length -= size;
  frame.total -= size;
}

// The two bytes behind addresses and tags: an EtherType or an 802.3 length.
uint32_t TypeOrLengthAt(const HeaderLayout& layout) { return kEthernetSize - 2 + layout.vlan_tags * kVlanTagSize; }

bool HasSnap(const Frame& frame, const HeaderLayout& layout) {
  return layout.eth_type != kEthTypeNone && LoadBig<uint16_t>(frame.data + TypeOrLengthAt(layout)) < kEthTypeMin;
}

// What is behind LLC and SNAP has changed its size. A length that would be an
// EtherType stays.
void ChangeLength(Frame& frame, const HeaderLayout& layout, int by) {
  uint8_t* bytes = frame.data + TypeOrLengthAt(layout);
  const int length = LoadBig<uint16_t>(bytes) + by;
  if (length >= 0 && length < kEthTypeMin) StoreBig(bytes, static_cast<uint16_t>(length));
}

// For a frame that has no label stack entry yet: see PushMpls.
uint32_t FirstEntry(const Frame& frame, const HeaderLayout& layout) {
  constexpr uint32_t kIpv6ExplicitNull = 2;
  constexpr uint32_t kDefaultTtl = 64;
  uint32_t tos = 0;
  uint32_t ttl = 0;
  const uint8_t* ip = frame.data + layout.l3;
  if (layout.has_ipv4()) {
    tos = ip[1];
    ttl = ip[8];
  } else if (layout.has_ipv6()) {
    tos = LoadBig<uint16_t>(ip) >> 4;
    ttl = ip[7];
  }
  const uint32_t label = layout.eth_type == kEthTypeIpv6 ? kIpv6ExplicitNull : 0;
  return label << kMplsLabelShift | (tos >> 2 & 7) << kMplsTcShift | kMplsBottom | (ttl != 0 ? ttl : kDefaultTtl);
}

// Headers came within reach that Parse has not seen.
void FindAnew(const Frame& frame, HeaderLayout& layout) {
  PacketKey key;
  if (Parse(frame, 0, key, layout) != ParseResult::kNeedMore) return;
  // With a checksum out of reach, addresses stay as they are too.
  layout.l3 = 0;
  layout.l4 = 0;
  layout.l4_fields = false;
  layout.nd = false;
}

}  // namespace

bool PushVlan(Frame& frame, HeaderLayout& layout, uint16_t tpid) {
  if (frame.headroom < kVlanTagSize) return false;
  const uint16_t tci = layout.vlan_tags == 0 ? 0 : LoadBig<uint16_t>(frame.data + kEthernetSize) & ~kTciPresent;
  Insert(frame, kAddresses, kVlanTagSize);
  StoreBig(frame.data + kAddresses, tpid);
  StoreBig(frame.data + kEthernetSize, tci);
  ++layout.vlan_tags;
  if (layout.l3 != 0) layout.l3 += kVlanTagSize;
  if (layout.l4 != 0) layout.l4 += kVlanTagSize;
  if (layout.mpls != 0) layout.mpls += kVlanTagSize;
  return true;
}

void PopVlan(Frame& frame, HeaderLayout& layout) {
  if (layout.vlan_tags == 0) return;
  Remove(frame, kAddresses, kVlanTagSize);
  --layout.vlan_tags;
  if (layout.l3 != 0) layout.l3 -= kVlanTagSize;
  if (layout.l4 != 0) layout.l4 -= kVlanTagSize;
  if (layout.mpls != 0) layout.mpls -= kVlanTagSize;
  if (IsVlanTpid(layout.eth_type)) FindAnew(frame, layout);
}

bool PushMpls(Frame& frame, HeaderLayout& layout, uint16_t eth_type) {
  if (frame.headroom < kMplsSize) return false;
  const bool snap = HasSnap(frame, layout);
  const uint32_t at = TypeOrLengthAt(layout) + 2 + (snap ? kLlcSnapSize : 0);
  const uint32_t entry =
      layout.mpls != 0 ? LoadBig<uint32_t>(frame.data + layout.mpls) & ~kMplsBottom : FirstEntry(frame, layout);
  if (snap) ChangeLength(frame, layout, kMplsSize);
  Insert(frame, at, kMplsSize);
  StoreBig(frame.data + at - sizeof eth_type, eth_type);
  StoreBig(frame.data + at, entry);
  const uint16_t tags = layout.vlan_tags;
  layout = {.eth_type = eth_type, .vlan_tags = tags, .mpls = static_cast<uint16_t>(at)};
  return true;
}

void PopMpls(Frame& frame, HeaderLayout& layout, uint16_t eth_type) {
  if (layout.mpls == 0) return;
  if (HasSnap(frame, layout)) ChangeLength(frame, layout, -static_cast<int>(kMplsSize));
  StoreBig(frame.data + layout.mpls - sizeof eth_type, eth_type);
  Remove(frame, layout.mpls, kMplsSize);
  FindAnew(frame, layout);
}

}  // namespace sluice
