// The ring of packets for controllers: order, bounds, bytes, two threads.

#include "dataplane/flow/punt_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

PuntResult PutText(PuntRing& ring, const std::string& text, uint64_t flow_id = 0) {
  PuntedPacket packet{.flow_id = flow_id, .length = 9999, .kept = static_cast<uint32_t>(text.size())};
  return ring.Put(packet, [&](uint8_t* bytes) { std::memcpy(bytes, text.data(), text.size()); });
}

std::vector<std::string> TakeAll(PuntRing& ring, unsigned most = ~0u) {
  std::vector<std::string> texts;
  const unsigned n = ring.Drain(most, [&](const PuntedPacket& packet, std::span<const uint8_t> bytes) {
    EXPECT_EQ(packet.length, 9999u);
    texts.emplace_back(bytes.begin(), bytes.end());
  });
  EXPECT_EQ(n, texts.size());
  return texts;
}

TEST(PuntRing, TakesNothingWhileNobodyListens) {
  PuntRing ring(4096);
  EXPECT_EQ(PutText(ring, "a"), PuntResult::kNobodyListens);
  ring.Listen(true);
  EXPECT_EQ(PutText(ring, "b"), PuntResult::kPut);
  ring.Listen(false);
  EXPECT_EQ(PutText(ring, "c"), PuntResult::kNobodyListens);
  EXPECT_EQ(TakeAll(ring), std::vector<std::string>{"b"});
}

TEST(PuntRing, WhoBeginsToListenGetsNothingFromBefore) {
  PuntRing ring(4096);
  ring.Listen(true);
  for (const char* text : {"a", "b", "c"}) EXPECT_EQ(PutText(ring, text), PuntResult::kPut);
  EXPECT_EQ(TakeAll(ring, 1), std::vector<std::string>{"a"});
  ring.Listen(false);
  ring.Listen(true);
  EXPECT_EQ(PutText(ring, "d"), PuntResult::kPut);
  // One more listener takes nothing from the first.
  ring.Listen(true);
  EXPECT_EQ(TakeAll(ring), std::vector<std::string>{"d"});
  EXPECT_TRUE(TakeAll(ring).empty());
}

TEST(PuntRing, GivesThemInOrderAndNoMoreThanAskedFor) {
  PuntRing ring(4096);
  ring.Listen(true);
  for (const char* text : {"first", "", "third"}) EXPECT_EQ(PutText(ring, text), PuntResult::kPut);
  EXPECT_EQ(TakeAll(ring, 2), (std::vector<std::string>{"first", ""}));
  EXPECT_EQ(TakeAll(ring), std::vector<std::string>{"third"});
  EXPECT_TRUE(TakeAll(ring).empty());
}

TEST(PuntRing, SaysWhenItIsFullAndGoesOnOnceItIsDrained) {
  PuntRing ring(1024);
  ring.Listen(true);
  EXPECT_EQ(PutText(ring, std::string(2000, 'x')), PuntResult::kFull);
  unsigned put = 0;
  while (PutText(ring, std::string(100, 'x')) == PuntResult::kPut) ++put;
  EXPECT_GE(put, 3u);
  EXPECT_LE(put * 100, 1024u);
  EXPECT_EQ(TakeAll(ring, 1).size(), 1u);
  EXPECT_EQ(TakeAll(ring).size(), put - 1);
  EXPECT_EQ(PutText(ring, std::string(100, 'y')), PuntResult::kPut);
}

// Every length and every place in the ring, packets that do not fit at its end among them.
TEST(PuntRing, KeepsBytesWhereverARecordFalls) {
  PuntRing ring(2048);
  ring.Listen(true);
  std::mt19937 random(1);
  std::vector<std::string> expected;
  unsigned full = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 300, '\0');
    for (char& c : text) c = static_cast<char>(random());
    if (PutText(ring, text) == PuntResult::kPut) {
      expected.push_back(text);
    } else {
      ++full;
    }
    if (random() % 4 != 0) continue;
    ASSERT_EQ(TakeAll(ring), expected);
    expected.clear();
  }
  EXPECT_GT(full, 100u);
}

TEST(PuntRing, OneThreadPutsWhileAnotherDrains) {
  PuntRing ring(8192);
  ring.Listen(true);
  constexpr uint64_t kPackets = 100'000;
  std::atomic<uint64_t> lost{0};
  std::thread worker([&] {
    for (uint64_t i = 1; i <= kPackets; ++i) {
      lost += PutText(ring, std::string(i % 97, static_cast<char>(i)), i) != PuntResult::kPut;
    }
  });
  uint64_t last = 0, taken = 0, wrong = 0;
  const auto drain = [&] {
    taken += ring.Drain(64, [&](const PuntedPacket& packet, std::span<const uint8_t> bytes) {
      wrong += packet.flow_id <= last || bytes.size() != packet.flow_id % 97;
      for (const uint8_t byte : bytes) wrong += byte != static_cast<uint8_t>(packet.flow_id);
      last = packet.flow_id;
    });
  };
  while (last != kPackets && taken + lost != kPackets) drain();
  worker.join();
  drain();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(taken + lost, kPackets);
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace sluice
