#include "dataplane/worker/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlacementTest, LeavesTheFirstCpuToTheOthers) {
  const Placement placement = PlaceWorkers({0, 1, 2, 3}, {}, 2).value();
  EXPECT_EQ(placement.main_cpu, 0u);
  EXPECT_THAT(placement.worker_cpus, ElementsAre(1, 2));
  EXPECT_THAT(placement.control_cpus, ElementsAre(0, 3));
}

TEST(PlacementTest, NumbersNeedNotBeDenseOrSmall) {
  const Placement two = PlaceWorkers({5, 7}, {}, 1).value();
  EXPECT_EQ(two.main_cpu, 5u);
  EXPECT_THAT(two.worker_cpus, ElementsAre(7));
  EXPECT_THAT(two.control_cpus, ElementsAre(5));
  const Placement one = PlaceWorkers({130}, {}, 1).value();
  EXPECT_EQ(one.main_cpu, 130u);
  EXPECT_THAT(one.worker_cpus, ElementsAre(130));
  EXPECT_THAT(one.control_cpus, ElementsAre(130));
}

TEST(PlacementTest, SharesWhereThereAreTooFew) {
  const Placement all = PlaceWorkers({5, 7}, {}, 2).value();
  EXPECT_THAT(all.worker_cpus, ElementsAre(7, 5));
  EXPECT_THAT(all.control_cpus, ElementsAre(5, 7));
  EXPECT_THAT(PlaceWorkers({5, 7}, {}, 5).value().worker_cpus, ElementsAre(7, 5, 7, 5, 7));
}

TEST(PlacementTest, TakesWhatIsWanted) {
  const Placement placement = PlaceWorkers({0, 1, 2}, {2, 0}, 1).value();
  EXPECT_THAT(placement.worker_cpus, ElementsAre(2, 0));
  EXPECT_EQ(placement.main_cpu, 1u);
  EXPECT_THAT(placement.control_cpus, ElementsAre(1));
}

TEST(PlacementTest, RefusalListsTheAllowedCpus) {
  const absl::Status status = PlaceWorkers({5, 7}, {0}, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("CPU 0"));
  EXPECT_THAT(status.message(), HasSubstr("5, 7"));
  EXPECT_THAT(PlaceWorkers({5, 7}, {7, 7}, 1).status().message(), HasSubstr("two workers"));
  EXPECT_THAT(PlaceWorkers({5, 7}, {}, 0).status().message(), HasSubstr("1 to 64"));
  EXPECT_FALSE(PlaceWorkers({5, 7}, {}, kMaxWorkers + 1).ok());
  EXPECT_FALSE(PlaceWorkers({}, {}, 1).ok());
}

TEST(PlacementTest, PinningIsSeenByTheKernel) {
  const std::vector<unsigned> allowed = AllowedCpus().value();
  std::thread([&] {
    EXPECT_EQ(PinThisThread({allowed.back()}), absl::OkStatus());
    EXPECT_THAT(AllowedCpus().value(), ElementsAre(allowed.back()));
  }).join();
  EXPECT_EQ(AllowedCpus().value(), allowed);
  EXPECT_FALSE(PinThisThread({8000}).ok());
}

}  // namespace
}  // namespace sluice
