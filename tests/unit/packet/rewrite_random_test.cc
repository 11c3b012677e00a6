// Rewriting at random, judged by the slow parser: exactly the field and its
// checksums change, and checksums computed anew agree.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

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

Change RandomChange(Random& random) {
  static constexpr Field kWritable[] = {
      Field::kEthDst,  Field::kEthSrc,  Field::kVlanVid,    Field::kVlanPcp,    Field::kArpOp,      Field::kArpSpa,
      Field::kArpTpa,  Field::kIpv4Src, Field::kIpv4Dst,    Field::kIpv6Src,    Field::kIpv6Dst,    Field::kIpDscp,
      Field::kIpEcn,   Field::kIpTtl,   Field::kTcpSrc,     Field::kTcpDst,     Field::kUdpSrc,     Field::kUdpDst,
      Field::kSctpSrc, Field::kSctpDst, Field::kIcmpv4Type, Field::kIcmpv4Code, Field::kIcmpv6Type, Field::kIcmpv6Code};
  Change change{kWritable[Below(random, std::size(kWritable))], absl::MakeUint128(random(), random()), Ones(128)};
  if (Below(random, 3) == 0) change.mask = absl::MakeUint128(random(), random());
  return change;
}

bool Has(const ReferenceResult& r, Field field) {
  const auto ip = [&r](uint16_t type) { return r.layout.l3 != 0 && r.layout.eth_type == type; };
  const auto l4 = [&r](uint8_t proto) { return r.layout.l4_fields && r.layout.ip_proto == proto; };
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
      return ip(0x0806);
    case Field::kIpv4Src:
    case Field::kIpv4Dst:
      return ip(0x0800);
    case Field::kIpv6Src:
    case Field::kIpv6Dst:
      return ip(0x86dd);
    case Field::kIpDscp:
    case Field::kIpEcn:
    case Field::kIpTtl:
      return ip(0x0800) || ip(0x86dd);
    case Field::kTcpSrc:
    case Field::kTcpDst:
      return l4(6);
    case Field::kUdpSrc:
    case Field::kUdpDst:
      return l4(17);
    case Field::kSctpSrc:
    case Field::kSctpDst:
      return l4(132);
    case Field::kIcmpv4Type:
    case Field::kIcmpv4Code:
      return l4(1);
    default:
      return l4(58);
  }
}

// The bytes that may change: the field's and its checksums'.
std::set<size_t> MayChange(const ReferenceResult& r, Field field) {
  std::set<size_t> at;
  const auto add = [&at](size_t begin, size_t size) {
    for (size_t i = 0; i < size; ++i) at.insert(begin + i);
  };
  const size_t l3 = r.layout.l3;
  const size_t l4 = r.layout.l4;
  const bool v4 = r.layout.eth_type == 0x0800;
  const bool address = field >= Field::kIpv4Src && field <= Field::kIpv6Dst;
  if (field == Field::kEthDst) add(0, 6);
  if (field == Field::kEthSrc) add(6, 6);
  if (field == Field::kVlanVid || field == Field::kVlanPcp) add(14, 2);
  if (field == Field::kArpOp) add(l3 + 6, 2);
  if (field == Field::kArpSpa) add(l3 + 14, 4);
  if (field == Field::kArpTpa) add(l3 + 24, 4);
  if (field == Field::kIpv4Src) add(l3 + 12, 4);
  if (field == Field::kIpv4Dst) add(l3 + 16, 4);
  if (field == Field::kIpv6Src) add(l3 + 8, 16);
  if (field == Field::kIpv6Dst) add(l3 + 24, 16);
  if (field == Field::kIpDscp || field == Field::kIpEcn) v4 ? add(l3 + 1, 1) : add(l3, 2);
  if (field == Field::kIpTtl) add(l3 + (v4 ? 8 : 7), 1);
  if (v4 && field >= Field::kIpv4Src && field <= Field::kIpTtl) add(l3 + 10, 2);
  if (field >= Field::kTcpSrc && field <= Field::kSctpDst) add(l4 + (static_cast<int>(field) % 2 == 1 ? 0 : 2), 2);
  if (field >= Field::kIcmpv4Type) add(l4 + (static_cast<int>(field) % 2 == 1 ? 0 : 1), 1);
  if (l4 == 0 || (!address && field < Field::kTcpSrc)) return at;
  if (r.layout.ip_proto == 6) add(l4 + 16, 2);
  if (r.layout.ip_proto == 17) add(l4 + 6, 2);
  if (r.layout.ip_proto == 132 && !address) add(l4 + 8, 4);
  if (r.layout.ip_proto == 58 || (r.layout.ip_proto == 1 && !address)) add(l4 + 2, 2);
  return at;
}

void CheckChange(const Bytes& before, const Bytes& after, const Change& change) {
  const ReferenceResult was = ReferenceParse(before, 1);
  const ReferenceResult is = ReferenceParse(after, 1);
  PacketKey expected = was.key;
  if (Has(was, change.field)) {
    const absl::uint128 old_bits = GetField(expected, change.field) & ~change.mask;
    PutField(expected, change.field, old_bits | (change.value & change.mask));
  }
  ASSERT_EQ(is.key, expected);
  ASSERT_EQ(is.layout, was.layout);
  ASSERT_EQ(before.size(), after.size());
  const std::set<size_t> may_change = Has(was, change.field) ? MayChange(was, change.field) : std::set<size_t>();
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_TRUE(before[i] == after[i] || may_change.contains(i)) << "byte " << i;
  }
}

TEST(RewriteRandom, FieldsOfWellFormedFrames) {
  Random random(21);
  int changed = 0;
  for (int round = 0; round < 20000; ++round) {
    const Bytes frame = RandomFrame(random);
    ASSERT_EQ(ChecksumErrors(frame), "") << ToHex(frame);
    Subject subject(frame);
    for (uint64_t changes = 1 + Below(random, 5); changes > 0; --changes) {
      const Change change = RandomChange(random);
      const Bytes before = subject.bytes();
      const Bytes after = subject.Set(change.field, change.value, change.mask).bytes();
      SCOPED_TRACE(testing::Message() << "field " << static_cast<int>(change.field) << " of " << ToHex(before));
      ASSERT_NO_FATAL_FAILURE(CheckChange(before, after, change));
      ASSERT_EQ(ChecksumErrors(after), "") << ToHex(after);
      changed += before != after;
    }
  }
  EXPECT_GT(changed, 10000);
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
    ASSERT_NO_FATAL_FAILURE(CheckChange(frame, after, change));
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

}  // namespace
}  // namespace sluice
