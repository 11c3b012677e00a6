// The parser against its slow twin, on frames cut, damaged and segmented at random.

#include <gtest/gtest.h>

#include <cstring>

#include "dataplane/packet/parse.h"
#include "tests/support/heap_frame.h"
#include "tests/support/random_packet.h"
#include "tests/support/reference_parser.h"

namespace sluice {
namespace {

constexpr int kRounds = 100000;

struct Parsed {
  ParseResult result;
  PacketKey key{};
  HeaderLayout layout;
};

Parsed ParseBytes(const Bytes& bytes) {
  HeapFrame frame(bytes);
  Parsed parsed;
  std::memset(&parsed.key, 0xee, kFirstPipelineWord * sizeof(uint64_t));
  parsed.result = Parse(frame.frame(), 1, parsed.key, parsed.layout);
  return parsed;
}

void ExpectLikeReference(const Bytes& bytes) {
  const ReferenceResult expected = ReferenceParse(bytes, 1);
  const Parsed parsed = ParseBytes(bytes);
  ASSERT_EQ(parsed.result, expected.result) << ToHex(bytes);
  if (expected.result == ParseResult::kTooShort) return;
  ASSERT_EQ(parsed.key, expected.key) << ToHex(bytes);
  ASSERT_EQ(parsed.layout, expected.layout) << ToHex(bytes);
}

TEST(ParseRandom, EveryTruncationOfAFrame) {
  Random random(3);
  for (int round = 0; round < kRounds / 200; ++round) {
    const Bytes frame = RandomFrame(random);
    for (size_t size = 0; size <= frame.size(); ++size) {
      ASSERT_NO_FATAL_FAILURE(ExpectLikeReference(Bytes(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size))));
    }
  }
}

TEST(ParseRandom, DamagedFrames) {
  Random random(4);
  int ok = 0;
  int malformed = 0;
  int with_l4 = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Bytes frame = RandomDamagedFrame(random);
    ASSERT_NO_FATAL_FAILURE(ExpectLikeReference(frame));
    const ReferenceResult expected = ReferenceParse(frame, 1);
    ok += expected.result == ParseResult::kOk;
    malformed += expected.result == ParseResult::kMalformed;
    with_l4 += expected.layout.l4 != 0;
  }
  // What was drawn covers all outcomes well.
  EXPECT_GT(ok, kRounds / 3);
  EXPECT_GT(malformed, kRounds / 20);
  EXPECT_GT(with_l4, kRounds / 5);
}

TEST(ParseRandom, AFrameInSegments) {
  Random random(5);
  for (int round = 0; round < kRounds / 200; ++round) {
    const Bytes bytes = RandomDamagedFrame(random);
    const ReferenceResult expected = ReferenceParse(bytes, 1);
    if (expected.result == ParseResult::kTooShort) continue;
    for (uint32_t length = 0; length <= bytes.size(); ++length) {
      HeapFrame frame(bytes, 0, length);
      PacketKey key{};
      HeaderLayout layout;
      const ParseResult result = Parse(frame.frame(), 1, key, layout);
      if (length < expected.header_bytes) {
        ASSERT_EQ(result, ParseResult::kNeedMore) << length << " of " << ToHex(bytes);
      } else {
        ASSERT_EQ(result, expected.result) << length << " of " << ToHex(bytes);
        ASSERT_EQ(key, expected.key) << length << " of " << ToHex(bytes);
        ASSERT_EQ(layout, expected.layout);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
