#include "dataplane/worker/idle.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(IdleBackoffTest, PollsForAWhileThenSleepsInProportion) {
  IdleBackoff idle;
  idle.Busy(1'000'000);
  EXPECT_EQ(idle.SleepNs(1'000'000), 0u);
  EXPECT_EQ(idle.SleepNs(1'019'999), 0u);
  EXPECT_EQ(idle.SleepNs(1'020'000), 10'000u);
  EXPECT_EQ(idle.SleepNs(1'100'000), 50'000u);
}

TEST(IdleBackoffTest, NeverSleepsLong) {
  IdleBackoff idle;
  idle.Busy(0);
  EXPECT_EQ(idle.SleepNs(3'600'000'000'000), IdleBackoff::kMaxSleepNs);
  EXPECT_LE(IdleBackoff::kMaxSleepNs, 100'000u);
}

TEST(IdleBackoffTest, PacketsWakeItUp) {
  IdleBackoff idle;
  idle.Busy(0);
  ASSERT_NE(idle.SleepNs(1'000'000), 0u);
  idle.Busy(1'000'000);
  EXPECT_EQ(idle.SleepNs(1'000'001), 0u);
}

}  // namespace
}  // namespace sluice
