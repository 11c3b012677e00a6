#include "dataplane/worker/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/worker/eal.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

constexpr uint64_t kMb = 1 << 20;

DataplaneConfig Config(HugePages huge_pages, uint32_t memory_mb = 0) {
  DataplaneConfig config;
  config.huge_pages = huge_pages;
  config.memory_mb = memory_mb;
  config.packet_buffers = 10000;
  return config;
}

MemoryAvailable Available(uint64_t plain_mb, uint64_t huge_pages) {
  return {.plain_bytes = plain_mb * kMb, .huge = {{2 * kMb, huge_pages}, {1024 * kMb, 0}}};
}

TEST(MemoryTest, PoolCountsWhatBelongsToABuffer) {
  EXPECT_GE(PoolBytes(Config(HugePages::kNever)), 10000u * (2176 + 128 + 128));
  EXPECT_LE(PoolBytes(Config(HugePages::kNever)), 10000u * (2176 + 512));
}

TEST(MemoryTest, PlainMemory) {
  const MemoryPlan plan = PlanMemory(Config(HugePages::kNever), Available(1000, 1000)).value();
  EXPECT_FALSE(plan.huge_pages);
  EXPECT_GT(plan.megabytes, 24u);
  EXPECT_LT(plan.megabytes, 200u);
  EXPECT_EQ(PlanMemory(Config(HugePages::kNever, 333), Available(1000, 0)).value().megabytes, 333u);
}

TEST(MemoryTest, HugePagesWhereThereAreEnough) {
  EXPECT_TRUE(PlanMemory(Config(HugePages::kAuto), Available(1000, 100)).value().huge_pages);
  EXPECT_FALSE(PlanMemory(Config(HugePages::kAuto), Available(1000, 10)).value().huge_pages);
  EXPECT_TRUE(PlanMemory(Config(HugePages::kDemand), Available(0, 100)).value().huge_pages);
  EXPECT_EQ(PlanMemory(Config(HugePages::kDemand), Available(0, 100)).value().megabytes, 0u);
}

TEST(MemoryTest, ErrorsSayWhatIsNeededAndWhatThereIs) {
  const absl::Status huge = PlanMemory(Config(HugePages::kDemand), Available(1000, 3)).status();
  EXPECT_EQ(huge.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(huge.message(), AllOf(HasSubstr("10000 packet buffers of 2176 bytes"), HasSubstr(" MB"),
                                    HasSubstr("3 pages of 2048 kB are free"), HasSubstr("0 pages of 1048576 kB")));
  EXPECT_THAT(PlanMemory(Config(HugePages::kDemand), {.plain_bytes = kMb, .huge = {}}).status().message(),
              HasSubstr("no huge pages"));
  const absl::Status plain = PlanMemory(Config(HugePages::kNever), Available(17, 0)).status();
  EXPECT_EQ(plain.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(plain.message(), AllOf(HasSubstr("10000 packet buffers"), HasSubstr("17 MB are available")));
  const absl::Status configured = PlanMemory(Config(HugePages::kNever, 8), Available(1000, 0)).status();
  EXPECT_THAT(configured.message(), HasSubstr("8 MB are configured"));
}

TEST(MemoryTest, ReadsTheMachine) {
  const MemoryAvailable available = ReadMemory();
  EXPECT_GT(available.plain_bytes, kMb);
  EXPECT_LT(available.plain_bytes, uint64_t{1} << 50);
  for (const HugePagesFree& huge : available.huge) EXPECT_GE(huge.page_bytes, 64u * 1024);
}

TEST(EalArgumentsTest, WithAndWithoutHugePages) {
  DataplaneConfig config;
  config.eal_args = {"--log-level=8"};
  EXPECT_THAT(EalArguments(config, 5, {.huge_pages = false, .megabytes = 99}, "x"),
              AllOf(IsSupersetOf({"--lcores=0@5", "--no-huge", "--no-shconf", "-m", "99", "--no-pci", "--iova-mode=va",
                                  "--no-telemetry", "--file-prefix", "x", "--log-level=8"}),
                    Not(Contains("--in-memory"))));
  config.use_pci = true;
  EXPECT_THAT(
      EalArguments(config, 5, {.huge_pages = true}, "x"),
      AllOf(Contains("--in-memory"), Not(Contains("--no-huge")), Not(Contains("-m")), Not(Contains("--no-pci"))));
}

}  // namespace
}  // namespace sluice
