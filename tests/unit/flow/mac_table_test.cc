// The table of stations: what it says, for how long, and what gives way.

#include "dataplane/flow/mac_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kStation = 0x020000000001;
constexpr uint32_t kNow = 1000;

TEST(MacTable, FindsAStationWhereItWasSeenLastInItsVlan) {
  MacTable table({});
  EXPECT_EQ(table.Find(kStation, 5, kNow), 0u);
  table.Learn(kStation, 5, 3, kNow);
  EXPECT_EQ(table.Find(kStation, 5, kNow), 3u);
  EXPECT_EQ(table.Find(kStation, 6, kNow), 0u);
  EXPECT_EQ(table.Find(kStation + 1, 5, kNow), 0u);
  table.Learn(kStation, 5, 65279, kNow);
  table.Learn(kStation, 0, 1, kNow);
  EXPECT_EQ(table.Find(kStation, 5, kNow), 65279u);
  EXPECT_EQ(table.Find(kStation, 0, kNow), 1u);
  const MacTableInfo info = table.Info();
  EXPECT_EQ(info.entries, 2u);
  EXPECT_EQ(info.learned, 2u);
  EXPECT_EQ(info.moved, 1u);
}

TEST(MacTable, GroupsAreNoStations) {
  MacTable table({});
  table.Learn(0xffffffffffff, 0, 1, kNow);
  table.Learn(0x01005e000001, 0, 1, kNow);
  EXPECT_EQ(table.Info().entries, 0u);
  table.Learn(0, 0, 1, kNow);
  table.Learn(0xfeffffffffff, 4095, 1, kNow);
  EXPECT_EQ(table.Find(0, 0, kNow), 1u);
  EXPECT_EQ(table.Find(0xfeffffffffff, 4095, kNow), 1u);
}

TEST(MacTable, ForgetsAStationAfterItsAgeUnlessItSends) {
  MacTable table({.entries = 10, .age_seconds = 300});
  table.Learn(kStation, 0, 1, kNow);
  table.Learn(kStation + 1, 0, 1, kNow);
  EXPECT_EQ(table.Find(kStation, 0, kNow + 299), 1u);
  table.Learn(kStation, 0, 1, kNow + 299);
  table.Expire(kNow + 299);
  EXPECT_EQ(table.Info().entries, 2u);
  EXPECT_EQ(table.Find(kStation + 1, 0, kNow + 300), 0u);
  EXPECT_THAT(table.List({}, kNow + 300), ElementsAre(MacEntry{kStation, 0, 1, 1}));
  table.Expire(kNow + 300);
  EXPECT_EQ(table.Info().entries, 1u);
  EXPECT_EQ(table.Info().expired, 1u);
  EXPECT_EQ(table.Find(kStation, 0, kNow + 598), 1u);
  EXPECT_EQ(table.Find(kStation, 0, kNow + 599), 0u);
}

// Another worker may have written with a time that is a little later.
TEST(MacTable, ATimeAheadIsNoAge) {
  MacTable table({});
  table.Learn(kStation, 0, 1, kNow + 1);
  EXPECT_EQ(table.Find(kStation, 0, kNow), 1u);
  table.Learn(kStation, 0, 1, kNow);
  EXPECT_THAT(table.List({}, kNow + 1), ElementsAre(MacEntry{kStation, 0, 1, 0}));
}

TEST(MacTable, AnExpiredStationThatComesBackIsNewAndNotMoved) {
  MacTable table({.entries = 10, .age_seconds = 5});
  table.Learn(kStation, 0, 1, kNow);
  table.Learn(kStation, 0, 2, kNow + 5);
  EXPECT_EQ(table.Find(kStation, 0, kNow + 5), 2u);
  const MacTableInfo info = table.Info();
  EXPECT_EQ(info.entries, 1u);
  EXPECT_EQ(info.learned, 2u);
  EXPECT_EQ(info.moved, 0u);
  EXPECT_EQ(info.expired, 1u);
}

TEST(MacTable, HoldsAsManyAsItSaysAndThenTheOldestGivesWay) {
  constexpr uint32_t kEntries = 8192;
  MacTable table({.entries = kEntries, .age_seconds = 300});
  for (uint32_t i = 0; i < kEntries; ++i) table.Learn(kStation + i * 0x101, 7, 1, kNow);
  EXPECT_EQ(table.Info().entries, kEntries);
  EXPECT_EQ(table.Info().evicted, 0u);
  for (uint32_t i = 0; i < kEntries; ++i) EXPECT_EQ(table.Find(kStation + i * 0x101, 7, kNow), 1u) << i;
  // Half of them stay awake; the newcomers put out the others.
  for (uint32_t i = 0; i < kEntries; i += 2) table.Learn(kStation + i * 0x101, 7, 1, kNow + 10);
  for (uint32_t i = 0; i < 1000; ++i) table.Learn(0x060000000000 + i, 7, 1, kNow + 11);
  EXPECT_EQ(table.Info().entries, kEntries);
  EXPECT_EQ(table.Info().evicted, 1000u);
  uint32_t awake = 0, newcomers = 0;
  for (uint32_t i = 0; i < kEntries; i += 2) awake += table.Find(kStation + i * 0x101, 7, kNow + 11) != 0;
  for (uint32_t i = 0; i < 1000; ++i) newcomers += table.Find(0x060000000000 + i, 7, kNow + 11) != 0;
  EXPECT_GE(awake, kEntries / 2 - 10);
  EXPECT_GE(newcomers, 990u);
}

// A port that floods the switch with addresses puts out its own.
TEST(MacTable, ThePortWithMostStationsGivesWay) {
  constexpr uint32_t kEntries = 3000, kVictims = 100;
  MacTable table({.entries = kEntries, .age_seconds = 300});
  for (uint32_t i = 0; i < kVictims; ++i) table.Learn(kStation + i, 0, 1, kNow);
  for (uint32_t i = 0; i < 20 * kEntries; ++i) table.Learn(0x0a0000000000 + i, 0, 2, kNow + i / kEntries);
  uint32_t left = 0;
  for (uint32_t i = 0; i < kVictims; ++i) left += table.Find(kStation + i, 0, kNow + 20) == 1;
  EXPECT_EQ(table.Info().entries, kEntries);
  EXPECT_GE(left, kVictims * 9 / 10);
}

TEST(MacTable, ATableOfOneHoldsTheLast) {
  MacTable table({.entries = 1, .age_seconds = 300});
  for (uint32_t i = 0; i < 10; ++i) {
    table.Learn(kStation + i, 0, 1 + i, kNow);
    EXPECT_THAT(table.List({}, kNow), ElementsAre(MacEntry{kStation + i, 0, 1 + i, 0}));
  }
}

TEST(MacTable, FlushForgetsWhatTheFilterSelects) {
  MacTable table({});
  for (uint32_t port = 1; port <= 3; ++port) {
    for (uint16_t vlan = 0; vlan < 4; ++vlan) table.Learn(kStation + port, vlan, port, kNow);
  }
  EXPECT_EQ(table.Flush({.port = 2, .vlan = 3}), 1u);
  EXPECT_EQ(table.Flush({.port = 2}), 3u);
  EXPECT_EQ(table.Flush({.mac = kStation + 1}), 4u);
  EXPECT_THAT(table.List({.vlan = 1}, kNow), ElementsAre(MacEntry{kStation + 3, 1, 3, 0}));
  EXPECT_EQ(table.Flush({}), 4u);
  EXPECT_THAT(table.List({}, kNow), IsEmpty());
  EXPECT_EQ(table.Info().entries, 0u);
}

// Against a map, with few enough stations that none gives way.
TEST(MacTable, SaysWhatANaiveTableSays) {
  struct Seen {
    uint32_t port;
    uint32_t when;
  };
  constexpr uint32_t kAge = 20;
  std::mt19937 random(1);
  MacTable table({.entries = 512, .age_seconds = kAge});
  std::map<std::pair<uint16_t, uint64_t>, Seen> model;
  uint32_t now = kNow;
  for (int step = 0; step < 200'000; ++step) {
    const uint64_t mac = kStation + random() % 60;
    const auto vlan = static_cast<uint16_t>(random() % 5);
    const auto seen = model.find({vlan, mac});
    const uint32_t expected = seen != model.end() && now - seen->second.when < kAge ? seen->second.port : 0;
    ASSERT_EQ(table.Find(mac, vlan, now), expected) << step;
    if (random() % 3 == 0) {
      const uint32_t port = 1 + random() % 3;
      table.Learn(mac, vlan, port, now);
      model[{vlan, mac}] = {port, now};
    }
    if (random() % 500 == 0) now += random() % 15;
    if (random() % 900 == 0) table.Expire(now);
    if (random() % 2000 == 0) {
      const uint32_t port = 1 + random() % 3;
      table.Flush({.port = port});
      std::erase_if(model, [&](const auto& each) { return each.second.port == port; });
    }
    if (step % 1000 == 0) {
      const auto alive =
          std::count_if(model.begin(), model.end(), [&](const auto& each) { return now - each.second.when < kAge; });
      ASSERT_THAT(table.List({}, now), SizeIs(alive));
    }
  }
}

// Stations never move here: whatever is found is right, or not known yet.
TEST(MacTable, WorkersLearnAndFindWhileOthersEvictAndFlush) {
  constexpr uint32_t kStations = 400;
  MacTable table({.entries = 100, .age_seconds = 10});
  const auto port_of = [](uint64_t mac) { return static_cast<uint32_t>(1 + mac % 7); };
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, found{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int step = 0; step < 200'000; ++step) {
      const uint64_t mac = kStation + random() % kStations;
      const uint32_t now = kNow + step / 1000;
      table.Learn(mac, 1, port_of(mac), now);
      const uint64_t other = kStation + random() % kStations;
      const uint32_t port = table.Find(other, 1, now);
      found += port != 0;
      wrong += port != 0 && port != port_of(other);
    }
  };
  std::thread control([&] {
    for (uint32_t now = kNow; !stop.load(); ++now) {
      table.Expire(kNow + now % 200);
      table.Flush({.port = 1 + now % 7});
      for (const MacEntry& entry : table.List({}, kNow)) wrong += entry.port != port_of(entry.mac);
    }
  });
  std::thread first(work, 1), second(work, 2), third(work, 3);
  first.join();
  second.join();
  third.join();
  stop = true;
  control.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(found.load(), 1000u);
  EXPECT_LE(table.Info().entries, 100u);
  std::set<uint64_t> listed;
  const auto all = table.List({}, kNow + 100);
  for (const MacEntry& entry : all) listed.insert(entry.mac);
  EXPECT_EQ(listed.size(), all.size());
  table.Flush({});
  EXPECT_EQ(table.Info().entries, 0u);
}

}  // namespace
}  // namespace sluice
