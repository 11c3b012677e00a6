// The ring of bytes by itself: what is reserved is seen once it is committed, or never.
// Bounds, wrapping and two threads: punt_ring_test.cc.

#include "dataplane/flow/byte_ring.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace sluice {
namespace {

// Records are strings with an end.
bool Reserve(ByteRing& ring, const std::string& text) {
  std::byte* at = ring.Reserve(text.size() + 1);
  if (at == nullptr) return false;
  std::memcpy(at, text.c_str(), text.size() + 1);
  return true;
}

std::vector<std::string> TakeAll(ByteRing& ring) {
  std::vector<std::string> texts;
  const unsigned n =
      ring.Drain(~0u, [&](const std::byte* at) { texts.emplace_back(reinterpret_cast<const char*>(at)); });
  EXPECT_EQ(n, texts.size());
  return texts;
}

TEST(ByteRing, SeesWhatIsCommitted) {
  ByteRing ring(1024);
  EXPECT_TRUE(Reserve(ring, "one"));
  EXPECT_TRUE(Reserve(ring, "two"));
  EXPECT_TRUE(TakeAll(ring).empty());
  ring.Commit();
  EXPECT_EQ(TakeAll(ring), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(TakeAll(ring).empty());
}

TEST(ByteRing, WhatIsTakenBackIsNeverSeen) {
  ByteRing ring(1024);
  EXPECT_TRUE(Reserve(ring, "stays"));
  const uint64_t end = ring.reserved();
  EXPECT_TRUE(Reserve(ring, "goes"));
  EXPECT_TRUE(Reserve(ring, "goes, too"));
  ring.TakeBackTo(end);
  ring.Commit();
  EXPECT_TRUE(Reserve(ring, "comes"));
  ring.Commit();
  EXPECT_EQ(TakeAll(ring), (std::vector<std::string>{"stays", "comes"}));
}

// At every place of the ring, its end among them: batches of which only the first records count.
TEST(ByteRing, TakesBackWhereverARecordFalls) {
  ByteRing ring(512);
  std::mt19937 random(1);
  unsigned full = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::string> expected;
    std::vector<uint64_t> ends{ring.reserved()};
    for (unsigned n = random() % 6; n > 0; --n) {
      const std::string text(random() % 120, static_cast<char>('a' + random() % 26));
      if (!Reserve(ring, text)) {
        ++full;
        break;
      }
      expected.push_back(text);
      ends.push_back(ring.reserved());
    }
    expected.resize(random() % ends.size());
    ring.TakeBackTo(ends[expected.size()]);
    ring.Commit();
    ASSERT_EQ(TakeAll(ring), expected);
  }
  EXPECT_GT(full, 100u);
}

}  // namespace
}  // namespace sluice
