#include "server/rate_limit.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

int TakeAll(RateLimit& limit, absl::Time now) {
  int n = 0;
  while (limit.Take(now)) ++n;
  return n;
}

TEST(RateLimit, GivesASecondsWorthAtOnceAndThenWhatTimeBrings) {
  const absl::Time start = absl::FromUnixSeconds(1'800'000'000);
  RateLimit limit(10, start);
  EXPECT_EQ(TakeAll(limit, start), 10);
  EXPECT_EQ(TakeAll(limit, start + absl::Milliseconds(500)), 5);
  EXPECT_EQ(TakeAll(limit, start + absl::Hours(1)), 10);
}

TEST(RateLimit, GoesOnWhenTheClockIsSetBack) {
  const absl::Time start = absl::FromUnixSeconds(1'800'000'000), back = start - absl::Hours(24);
  RateLimit limit(10, start);
  EXPECT_EQ(TakeAll(limit, start), 10);
  EXPECT_EQ(TakeAll(limit, back), 0);
  EXPECT_EQ(TakeAll(limit, back + absl::Milliseconds(500)), 5);
}

}  // namespace
}  // namespace sluice
