#include "dataplane/flow/timing_wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <vector>

namespace sluice {
namespace {

using Item = TimingWheel::Item;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr size_t kAll = ~size_t{0};

std::vector<Item> Take(TimingWheel& wheel, uint64_t now) {
  std::vector<Item> out;
  while (!wheel.Take(now, kAll, out)) {
  }
  return out;
}

TEST(TimingWheelTest, WhatIsDueIsTakenOnce) {
  TimingWheel wheel(100);
  EXPECT_EQ(wheel.bytes(), 0u) << "who has no timers pays nothing";
  wheel.File(1, 105);
  wheel.File(2, 106);
  wheel.File(3, 105);
  EXPECT_THAT(Take(wheel, 104), IsEmpty());
  EXPECT_THAT(Take(wheel, 105), UnorderedElementsAre(1, 3));
  EXPECT_FALSE(wheel.filed(1));
  EXPECT_TRUE(wheel.filed(2));
  EXPECT_THAT(Take(wheel, 200), ElementsAre(2));
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimingWheelTest, WhatHasBeenIsDueAtOnce) {
  TimingWheel wheel(100);
  wheel.File(1, 3);
  EXPECT_THAT(Take(wheel, 100), ElementsAre(1));
  wheel.File(1, 100);
  EXPECT_THAT(Take(wheel, 100), IsEmpty()) << "that tick is over";
  EXPECT_THAT(Take(wheel, 101), ElementsAre(1));
  wheel.File(1, 105);
  EXPECT_THAT(Take(wheel, 50), IsEmpty()) << "time does not go backwards";
  EXPECT_THAT(Take(wheel, 105), ElementsAre(1));
}

TEST(TimingWheelTest, BeyondATurnIsTheTurnsEnd) {
  TimingWheel wheel(7);
  wheel.File(1, ~uint64_t{0});
  EXPECT_THAT(Take(wheel, 7 + TimingWheel::kSlots - 2), IsEmpty());
  EXPECT_THAT(Take(wheel, 7 + TimingWheel::kSlots - 1), ElementsAre(1));
}

TEST(TimingWheelTest, AStepIsBounded) {
  TimingWheel wheel(0);
  for (Item item = 1; item <= 10; ++item) wheel.File(item, 1);
  wheel.File(11, 100'000);
  std::vector<Item> out;
  EXPECT_FALSE(wheel.Take(1, 4, out));
  EXPECT_EQ(out.size(), 4u);
  EXPECT_FALSE(wheel.Take(1, 4, out));
  EXPECT_TRUE(wheel.Take(1, 4, out));
  EXPECT_EQ(out.size(), 10u);
  int steps = 1;
  while (!wheel.Take(100'000, 4, out)) ++steps;
  EXPECT_EQ(out.back(), 11u);
  EXPECT_EQ(steps, static_cast<int>(100'000 / TimingWheel::kMostTicks + 1)) << "nor are many ticks done at once";
}

// Against a map, over several turns.
TEST(TimingWheelTest, AgainstTheObvious) {
  std::mt19937_64 random(1);
  uint64_t now = 12345;
  TimingWheel wheel(now);
  std::map<Item, uint64_t> filed;
  for (int step = 0; step < 200'000; ++step) {
    const auto item = static_cast<Item>(1 + random() % 500);
    const uint64_t ahead = random() % (random() % 2 == 0 ? 50 : TimingWheel::kSlots);
    switch (random() % 4) {
      case 0:
        wheel.Unfile(item);
        filed.erase(item);
        break;
      case 1:
        now += random() % (random() % 100 == 0 ? TimingWheel::kSlots / 8 : 20);
        for (const Item due : Take(wheel, now)) {
          ASSERT_TRUE(filed.contains(due));
          ASSERT_LE(filed[due], now);
          filed.erase(due);
        }
        for (const auto& [left, tick] : filed) ASSERT_GT(tick, now) << left << " was not taken";
        break;
      default:
        wheel.File(item, now + 1 + ahead % (TimingWheel::kSlots - 1));
        filed[item] = now + 1 + ahead % (TimingWheel::kSlots - 1);
    }
    ASSERT_EQ(wheel.size(), filed.size());
    ASSERT_EQ(wheel.filed(item), filed.contains(item));
  }
  EXPECT_GT(now, 3 * TimingWheel::kSlots) << "it never went round";
}

TEST(TimingWheelTest, AMillionItemsTakeShortSteps) {
  constexpr Item kItems = 1'000'000;
  TimingWheel wheel(0);
  for (Item item = 1; item <= kItems; ++item) wheel.File(item, 1 + item % 4);
  std::vector<Item> out;
  out.reserve(kItems);
  std::vector<std::chrono::steady_clock::duration> steps;
  for (bool all = false; !all;) {
    const auto begin = std::chrono::steady_clock::now();
    const size_t before = out.size();
    all = wheel.Take(4, 1000, out);
    steps.push_back(std::chrono::steady_clock::now() - begin);
    ASSERT_LE(out.size() - before, 1000u);
  }
  EXPECT_EQ(out.size(), kItems);
  // Half of the steps, since whatever else runs here may stop one for a while.
  std::nth_element(steps.begin(), steps.begin() + steps.size() / 2, steps.end());
  EXPECT_LT(steps[steps.size() / 2], std::chrono::milliseconds(2));
  EXPECT_LT(wheel.bytes(), size_t{20} << 20);
}

}  // namespace
}  // namespace sluice
