// Rewriting at random, judged by the slow parser: exactly the field and its
// checksums change, and checksums computed anew agree.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/support/random_packet.h"
#include "tests/support/reference_parser.h"
#include "tests/unit/packet/subject.h"

namespace sluice {
namespace {

struct Change {
  Field field;
  absl::uint128 value;
  absl::uint128 mask;
};

constexpr Field kWritable[] = {
    Field::kEthDst,    Field::kEthSrc,  Field::kVlanVid,    Field::kVlanPcp,    Field::kArpOp,      Field::kArpSpa,
    Field::kArpTpa,    Field::kIpv4Src, Field::kIpv4Dst,    Field::kIpv6Src,    Field::kIpv6Dst,    Field::kIpDscp,
    Field::kIpEcn,     Field::kIpTtl,   Field::kTcpSrc,     Field::kTcpDst,     Field::kUdpSrc,     Field::kUdpDst,
    Field::kSctpSrc,   Field::kSctpDst, Field::kIcmpv4Type, Field::kIcmpv4Code, Field::kIcmpv6Type, Field::kIcmpv6Code,
    Field::kMplsLabel, Field::kMplsTc,  Field::kMplsTtl,    Field::kArpSha,     Field::kArpTha,     Field::kIpv6Label,
    Field::kNdTarget,  Field::kNdSll,   Field::kNdTll};

Change RandomChange(Random& random) {
  Change change{kWritable[Below(random, std::size(kWritable))], absl::MakeUint128(random(), random()), Ones(128)};
  if (Below(random, 3) == 0) change.mask = absl::MakeUint128(random(), random());
  return change;
}

bool HasTransport(const ReferenceResult& r, Field field) {
  static constexpr std::pair<Field, uint8_t> kLast[] = {{Field::kTcpDst, 6},
                                                        {Field::kUdpDst, 17},
                                                        {Field::kSctpDst, 132},
                                                        {Field::kIcmpv4Code, 1},
                                                        {Field::kIcmpv6Code, 58}};
  for (const auto& [last, protocol] : kLast) {
    if (field <= last) return r.layout.l4_fields && r.layout.ip_proto == protocol;
  }
  return false;
}

bool Has(const ReferenceResult& r, Field field) {
  const auto ip = [&r](uint16_t type) { return r.layout.l3 != 0 && r.layout.eth_type == type; };
  switch (field) {
    case Field::kEthDst:
    case Field::kEthSrc:
      return true;
    case Field::kVlanVid:
    case Field::kVlanPcp:
      return r.layout.vlan_tags > 0;
    case Field::kArpOp:
    case Field::kArpSpa:
    case Field::kArpTpa:
    case Field::kArpSha:
    case Field::kArpTha:
      return ip(0x0806);
    case Field::kIpv4Src:
    case Field::kIpv4Dst:
      return ip(0x0800);
    case Field::kIpv6Src:
    case Field::kIpv6Dst:
    case Field::kIpv6Label:
      return ip(0x86dd);
    case Field::kIpDscp:
    case Field::kIpEcn:
    case Field::kIpTtl:
      return ip(0x0800) || ip(0x86dd);
    case Field::kMplsLabel:
    case Field::kMplsTc:
    case Field::kMplsTtl:
      return r.layout.mpls != 0;
    case Field::kNdTarget:
      return r.layout.nd;
    case Field::kNdSll:
      return r.source_link_at != 0;
    case Field::kNdTll:
      return r.target_link_at != 0;
    default:
      return HasTransport(r, field);
  }
}

// Where a field's bits are that the frame has.
std::pair<size_t, size_t> PlaceOf(const ReferenceResult& r, Field field) {
  const size_t l3 = r.layout.l3, l4 = r.layout.l4, mpls = r.layout.mpls;
  const bool v4 = r.layout.eth_type == 0x0800;
  const std::map<Field, std::pair<size_t, size_t>> places = {
      {Field::kEthDst, {0, 6}},
      {Field::kEthSrc, {6, 6}},
      {Field::kVlanVid, {14, 2}},
      {Field::kVlanPcp, {14, 2}},
      {Field::kArpOp, {l3 + 6, 2}},
      {Field::kArpSha, {l3 + 8, 6}},
      {Field::kArpSpa, {l3 + 14, 4}},
      {Field::kArpTha, {l3 + 18, 6}},
      {Field::kArpTpa, {l3 + 24, 4}},
      {Field::kIpv4Src, {l3 + 12, 4}},
      {Field::kIpv4Dst, {l3 + 16, 4}},
      {Field::kIpv6Label, {l3 + 1, 3}},
      {Field::kIpv6Src, {l3 + 8, 16}},
      {Field::kIpv6Dst, {l3 + 24, 16}},
      {Field::kIpDscp, v4 ? std::pair<size_t, size_t>{l3 + 1, 1} : std::pair<size_t, size_t>{l3, 2}},
      {Field::kIpEcn, v4 ? std::pair<size_t, size_t>{l3 + 1, 1} : std::pair<size_t, size_t>{l3, 2}},
      {Field::kIpTtl, {l3 + (v4 ? 8 : 7), 1}},
      {Field::kMplsLabel, {mpls, 3}},
      {Field::kMplsTc, {mpls + 2, 1}},
      {Field::kMplsTtl, {mpls + 3, 1}},
      {Field::kNdTarget, {l4 + 8, 16}},
      {Field::kNdSll, {r.source_link_at, 6}},
      {Field::kNdTll, {r.target_link_at, 6}},
  };
  if (const auto place = places.find(field); place != places.end()) return place->second;
  const bool first = static_cast<int>(field) % 2 == 1;
  if (field <= Field::kSctpDst) return {l4 + (first ? 0 : 2), 2};
  return {l4 + (first ? 0 : 1), 1};
}

// The bytes that may change: the field's and its checksums'.
std::set<size_t> MayChange(const ReferenceResult& r, Field field) {
  std::set<size_t> at;
  const auto add = [&at](size_t begin, size_t size) {
    for (size_t i = 0; i < size; ++i) at.insert(begin + i);
  };
  const size_t l4 = r.layout.l4;
  const bool address = field >= Field::kIpv4Src && field <= Field::kIpv6Dst;
  const auto [begin, size] = PlaceOf(r, field);
  add(begin, size);
  const bool of_ip = field >= Field::kIpv4Src && field <= Field::kIpTtl;
  if (r.layout.eth_type == 0x0800 && of_ip) add(r.layout.l3 + 10u, 2);
  const bool of_l4 = (field >= Field::kTcpSrc && field <= Field::kIcmpv6Code) || field >= Field::kNdTarget;
  if (l4 == 0 || !(address || of_l4)) return at;
  if (r.layout.ip_proto == 6) add(l4 + 16, 2);
  if (r.layout.ip_proto == 17) add(l4 + 6, 2);
  if (r.layout.ip_proto == 132 && !address) add(l4 + 8, 4);
  if (r.layout.ip_proto == 58 || (r.layout.ip_proto == 1 && !address)) add(l4 + 2, 2);
  return at;
}

void ForgetNd(ReferenceResult& r) {
  if (!r.layout.nd) return;
  r.layout.nd = false;
  r.key.present &= static_cast<uint16_t>(~(kPresentNd | kPresentNdSource | kPresentNdTarget));
  for (auto* bytes : {r.key.arp_sha, r.key.arp_tha}) std::fill_n(bytes, 6, uint8_t{0});
  std::fill_n(r.key.nd_target, 16, uint8_t{0});
}

// nd: neighbour discovery was found when the layout was.
void CheckChange(const Bytes& before, const Bytes& after, const Change& change, bool nd) {
  ReferenceResult was = ReferenceParse(before, 1);
  ReferenceResult is = ReferenceParse(after, 1);
  if (change.field == Field::kIcmpv6Type || change.field == Field::kIcmpv6Code) {
    // They say whether what follows is neighbour discovery.
    ForgetNd(was);
    ForgetNd(is);
  }
  PacketKey expected = was.key;
  const bool of_nd = change.field >= Field::kNdTarget && change.field <= Field::kNdTll;
  const bool has = Has(was, change.field) && (nd || !of_nd);
  if (has) {
    const absl::uint128 old_bits = GetField(expected, change.field) & ~change.mask;
    PutField(expected, change.field, old_bits | (change.value & change.mask));
  }
  ASSERT_EQ(is.key, expected);
  ASSERT_EQ(is.layout, was.layout);
  ASSERT_EQ(before.size(), after.size());
  const std::set<size_t> may_change = has ? MayChange(was, change.field) : std::set<size_t>();
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_TRUE(before[i] == after[i] || may_change.contains(i)) << "byte " << i;
  }
}

TEST(RewriteRandom, FieldsOfWellFormedFrames) {
  Random random(21);
  int changed = 0;
  std::map<Field, int> changed_of;
  for (int round = 0; round < 40000; ++round) {
    const Bytes frame = RandomFrame(random);
    ASSERT_EQ(ChecksumErrors(frame), "") << ToHex(frame);
    Subject subject(frame);
    for (uint64_t changes = 1 + Below(random, 5); changes > 0; --changes) {
      const Change change = RandomChange(random);
      const Bytes before = subject.bytes();
      const bool nd = subject.layout().nd;
      const Bytes after = subject.Set(change.field, change.value, change.mask).bytes();
      SCOPED_TRACE(testing::Message() << "field " << static_cast<int>(change.field) << " of " << ToHex(before));
      ASSERT_NO_FATAL_FAILURE(CheckChange(before, after, change, nd));
      ASSERT_EQ(ChecksumErrors(after), "") << ToHex(after);
      changed += before != after;
      changed_of[change.field] += before != after;
    }
  }
  EXPECT_GT(changed, 20000);
  EXPECT_EQ(changed_of.size(), std::size(kWritable));
  for (const auto& [field, count] : changed_of) EXPECT_GT(count, 20) << "field " << static_cast<int>(field);
}

TEST(RewriteRandom, FieldsOfDamagedFramesInSegments) {
  Random random(22);
  for (int round = 0; round < 20000; ++round) {
    const Bytes frame = RandomDamagedFrame(random);
    const ReferenceResult reference = ReferenceParse(frame, 1);
    if (reference.result == ParseResult::kTooShort) continue;
    // No byte behind the headers is at hand.
    const auto length = static_cast<uint32_t>(std::max<size_t>(14, reference.header_bytes));
    Subject headers(frame, kHeadroom, length);
    Subject whole(frame);
    const Change change = RandomChange(random);
    const Bytes after = headers.Set(change.field, change.value, change.mask).bytes();
    SCOPED_TRACE(testing::Message() << "field " << static_cast<int>(change.field) << " of " << ToHex(frame));
    ASSERT_EQ(after, whole.Set(change.field, change.value, change.mask).bytes());
    ASSERT_NO_FATAL_FAILURE(CheckChange(frame, after, change, reference.layout.nd));
  }
}

TEST(RewriteRandom, TagsAndFields) {
  Random random(23);
  for (int round = 0; round < 20000; ++round) {
    const Bytes frame = Below(random, 2) == 0 ? RandomFrame(random) : RandomDamagedFrame(random);
    if (frame.size() < 14) continue;
    Subject subject(frame);
    Bytes model = frame;
    for (uint64_t steps = 1 + Below(random, 5); steps > 0; --steps) {
      const size_t tags = subject.layout().vlan_tags;
      if (Below(random, 2) == 0 && subject.frame().headroom >= 4) {
        subject.Push(0x88a8);
        Bytes tag = {0x88, 0xa8, 0, 0};
        if (tags > 0) tag[2] = model[14] & 0xef, tag[3] = model[15];
        model.insert(model.begin() + 12, tag.begin(), tag.end());
      } else {
        subject.Pop();
        if (tags > 0) model.erase(model.begin() + 12, model.begin() + 16);
      }
      ASSERT_EQ(subject.bytes(), model) << ToHex(frame);
    }
    // The layout is still that of the frame, as far as a parser sees tags.
    const ReferenceResult reference = ReferenceParse(model, 1);
    if (subject.layout().vlan_tags <= 2) {
      ASSERT_EQ(subject.layout(), reference.layout) << ToHex(frame);
    }
    if (ChecksumErrors(model) == "") {
      subject.Set(Field::kIpv4Dst, 0x01020304).Set(Field::kIpv6Src, 5).Set(Field::kUdpSrc, 6).DecTtl();
      ASSERT_EQ(ChecksumErrors(subject.bytes()), "") << ToHex(frame);
    }
  }
}

// Bytes put in and taken out.
class LabelModel {
 public:
  explicit LabelModel(Bytes bytes) : bytes_(std::move(bytes)) {}

  const Bytes& bytes() const { return bytes_; }
  ReferenceResult Read() const { return ReferenceParse(bytes_, 1); }

  void PushTag() {
    const bool tagged = Read().layout.vlan_tags > 0;
    const Bytes tag = {0x81, 0, static_cast<uint8_t>(tagged ? bytes_[14] & 0xef : 0),
                       static_cast<uint8_t>(tagged ? bytes_[15] : 0)};
    bytes_.insert(bytes_.begin() + 12, tag.begin(), tag.end());
  }

  void PushLabel(uint16_t type) {
    const size_t at = PayloadAt();
    const Bytes entry = Read().layout.mpls != 0 ? Copy(at) : FirstEntry();
    ChangeLength(at, 4);
    bytes_.insert(bytes_.begin() + static_cast<ptrdiff_t>(at), entry.begin(), entry.end());
    PutType(at, type);
  }

  void PopLabel(uint16_t type) {
    const size_t at = PayloadAt();
    ChangeLength(at, -4);
    const auto first = bytes_.begin() + static_cast<ptrdiff_t>(at);
    bytes_.erase(first, first + 4);
    PutType(at, type);
  }

 private:
  size_t TypeAt() const { return 12 + 4u * Read().layout.vlan_tags; }
  // Where what the EtherType says begins.
  size_t PayloadAt() const {
    const bool snap = bytes_[TypeAt()] < 6 && Read().layout.eth_type != kEthTypeNone;
    return TypeAt() + (snap ? 10 : 2);
  }
  // Of the outermost entry, which is not the bottom then.
  Bytes Copy(size_t at) const {
    return {bytes_[at], bytes_[at + 1], static_cast<uint8_t>(bytes_[at + 2] & 0xfe), bytes_[at + 3]};
  }
  // What Open vSwitch pushes where there is none.
  Bytes FirstEntry() const {
    const ReferenceResult r = Read();
    const bool ip = r.layout.l3 != 0 && r.layout.eth_type != 0x0806;
    const uint8_t label = r.layout.eth_type == 0x86dd ? 0x20 : 0;
    const auto tc = static_cast<uint8_t>(ip ? r.key.ip_tos / 4 % 8 : 0);
    return {0, 0, static_cast<uint8_t>(label | tc << 1 | 1), ip && r.key.ip_ttl != 0 ? r.key.ip_ttl : uint8_t{64}};
  }
  // SNAP's, if there is SNAP before the payload.
  void ChangeLength(size_t payload, int change) {
    if (payload == TypeAt() + 2) return;
    const int length = bytes_[TypeAt()] * 256 + bytes_[TypeAt() + 1] + change;
    if (length >= 0 && length < 0x600) PutType(TypeAt() + 2, static_cast<uint16_t>(length));
  }
  void PutType(size_t before, uint16_t type) {
    bytes_[before - 2] = static_cast<uint8_t>(type >> 8);
    bytes_[before - 1] = static_cast<uint8_t>(type);
  }

  Bytes bytes_;
};

TEST(RewriteRandom, LabelsAndTags) {
  Random random(24);
  int pushed = 0, popped = 0, uncovered = 0;
  for (int round = 0; round < 20000; ++round) {
    const Bytes frame = RandomFrame(random);
    Subject subject(frame, 64);
    LabelModel model(frame);
    for (uint64_t steps = 1 + Below(random, 6); steps > 0; --steps) {
      static constexpr uint16_t kTypes[] = {0x0800, 0x86dd, 0x8848};
      const uint16_t type = kTypes[Below(random, std::size(kTypes))];
      const HeaderLayout before = subject.layout();
      if (before.vlan_tags < 2 && Below(random, 4) == 0) {
        subject.Push();
        model.PushTag();
      } else if (Below(random, 2) == 0) {
        subject.PushLabel(0x8847);
        model.PushLabel(0x8847);
        ++pushed;
      } else {
        subject.PopLabel(type);
        if (before.mpls != 0) model.PopLabel(type);
        popped += before.mpls != 0;
        uncovered += before.l4 == 0 && subject.layout().l4 != 0;
      }
      ASSERT_EQ(subject.hex(), ToHex(model.bytes())) << ToHex(frame);
      ASSERT_EQ(subject.layout(), model.Read().layout) << ToHex(frame);
    }
  }
  EXPECT_GT(pushed, 10000);
  EXPECT_GT(popped, 5000);
  EXPECT_GT(uncovered, 500);
}

}  // namespace
}  // namespace sluice
