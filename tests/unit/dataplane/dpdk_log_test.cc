#include "dataplane/port/dpdk_log.h"

#include <gtest/gtest.h>
#include <rte_log.h>

#include <thread>

namespace sluice {
namespace {

TEST(DpdkLogTest, ReasonIsWhatTheDriverSays) {
  EXPECT_EQ(ReasonIn({{.warning = false, .text = "tap: trying"},
                      {.warning = true, .text = "tun_alloc(): Unable to set TUNSETIFF for p1: Device or resource busy"},
                      {.warning = true, .text = "rte_pmd_tap_probe(): Failed to create pmd for net_tap7 as p1"},
                      {.warning = true, .text = "EAL: Driver cannot attach the device (net_tap7)"}}),
            "Unable to set TUNSETIFF for p1: Device or resource busy");
}

TEST(DpdkLogTest, EmptyPhrasesAreBetterThanNothing) {
  EXPECT_EQ(ReasonIn({{.warning = true, .text = "EAL: Driver cannot attach the device (x)"}}),
            "EAL: Driver cannot attach the device (x)");
  EXPECT_EQ(ReasonIn({}), "");
}

TEST(DpdkLogTest, CapturesTheLinesOfItsThread) {
  TakeOverDpdkLog();
  DpdkLogCapture outer;
  rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "one\ntwo\n");
  std::thread([] { rte_log(RTE_LOG_INFO, RTE_LOGTYPE_EAL, "another thread's\n"); }).join();
  {
    DpdkLogCapture inner;
    rte_log(RTE_LOG_INFO, RTE_LOGTYPE_EAL, "inner\n");
    ASSERT_EQ(inner.lines().size(), 1u);
    EXPECT_EQ(inner.lines()[0].text, "inner");
    EXPECT_FALSE(inner.lines()[0].warning);
  }
  ASSERT_EQ(outer.lines().size(), 2u);
  EXPECT_EQ(outer.lines()[0].text, "one");
  EXPECT_EQ(outer.lines()[1].text, "two");
  EXPECT_TRUE(outer.lines()[1].warning);
}

TEST(DpdkLogTest, CodeFollowsTheReason) {
  TakeOverDpdkLog();
  constexpr auto kOtherwise = absl::StatusCode::kFailedPrecondition;
  DpdkLogCapture silent;
  EXPECT_EQ(silent.Failure("x", -EACCES, kOtherwise).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(silent.Failure("x", -ENOMEM, kOtherwise).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(silent.Failure("x", -EBUSY, kOtherwise).message(), "x: Device or resource busy");
  // A bare -1 looks like EPERM and is none.
  EXPECT_EQ(silent.Failure("x", -1, kOtherwise).code(), kOtherwise);
  rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_EAL, "tun_alloc(): no TUNSETIFF: Operation not permitted\n");
  EXPECT_EQ(silent.Failure("net_tap", -1, kOtherwise),
            absl::PermissionDeniedError("net_tap: no TUNSETIFF: Operation not permitted"));
}

}  // namespace
}  // namespace sluice
