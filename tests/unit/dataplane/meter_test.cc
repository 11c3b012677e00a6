// Rates, bursts and bands, at simulated times.

#include "dataplane/meter/meter.h"

#include <gtest/gtest.h>

#include <memory>

#include "dataplane/meter/meter_table.h"
#include "dataplane/worker/reclaimer.h"

namespace sluice {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 100 * kSecond;  // the clock has run before

struct Passed {
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

std::unique_ptr<Meter> NewMeter(const MeterSpec& spec, unsigned workers) {
  return std::make_unique<Meter>(spec, workers, std::make_shared<MeterCounters>(workers));
}

// Workers take turns, each with a packet every `gap` ns.
Passed Offer(const Meter& meter, unsigned workers, uint64_t from, uint64_t to, uint64_t gap, uint32_t bytes) {
  Passed passed;
  for (uint64_t now = from; now < to; now += gap) {
    for (unsigned worker = 0; worker < workers; ++worker) {
      if (meter.Admit(worker, now, bytes).drop) continue;
      ++passed.packets;
      passed.bytes += bytes;
    }
  }
  return passed;
}

TEST(MeterTest, TwoWorkersTogetherKeepToPacketRatesForTenSeconds) {
  for (const uint32_t rate : {50u, 100u, 5000u, 1'000'003u}) {
    for (const uint32_t burst : {1u, 50u}) {
      // A bucket of one packet cannot make up for packets that come out of step.
      if (burst == 1 && kSecond % (uint64_t{rate} * 2) != 0) continue;
      const auto meter = NewMeter({.id = 1, .unit = MeterUnit::kPackets, .bands = {{.rate = rate, .burst = burst}}}, 2);
      const uint64_t gap = std::max<uint64_t>(kSecond / rate / 2, 400);
      const Passed passed = Offer(*meter, 2, kStart, kStart + 10 * kSecond, gap, 64);
      EXPECT_NEAR(static_cast<double>(passed.packets), 10.0 * rate + burst, 0.02 * (10.0 * rate + burst))
          << rate << " " << burst;
    }
  }
}

TEST(MeterTest, TwoWorkersTogetherKeepToBitRatesForTenSeconds) {
  // 10 Mbit/s offered at four times that.
  const auto meter = NewMeter({.id = 1, .unit = MeterUnit::kKilobits, .bands = {{.rate = 10'000, .burst = 100}}}, 2);
  const Passed passed = Offer(*meter, 2, kStart, kStart + 10 * kSecond, 600'000, 1500);
  EXPECT_NEAR(static_cast<double>(passed.bytes) * 8, 100e6, 2e6);
}

TEST(MeterTest, OneWorkerOfManyGetsTheWholeRate) {
  const auto meter = NewMeter({.id = 1, .unit = MeterUnit::kPackets, .bands = {{.rate = 10'000, .burst = 100}}}, 8);
  const Passed passed = Offer(*meter, 1, kStart, kStart + 10 * kSecond, 10'000, 64);
  EXPECT_NEAR(static_cast<double>(passed.packets), 100'100, 2'000);
}

TEST(MeterTest, LetsABurstPassAfterAPauseAndNoMore) {
  const auto meter = NewMeter({.id = 1, .unit = MeterUnit::kPackets, .bands = {{.rate = 100, .burst = 40}}}, 2);
  EXPECT_EQ(Offer(*meter, 2, kStart, kStart + 1000, 10, 64).packets, 40u);
  // A tenth of a second brings ten.
  EXPECT_EQ(Offer(*meter, 2, kStart + kSecond / 10, kStart + kSecond / 10 + 1000, 10, 64).packets, 10u);
  // A long pause fills the bucket and no more, whatever the workers kept.
  EXPECT_EQ(Offer(*meter, 2, kStart + 60 * kSecond, kStart + 60 * kSecond + 1000, 10, 64).packets, 40u);
}

TEST(MeterTest, WithoutABurstASecondsWorthPasses) {
  const auto meter = NewMeter({.id = 1, .unit = MeterUnit::kPackets, .bands = {{.rate = 300}}}, 1);
  EXPECT_EQ(Offer(*meter, 1, kStart, kStart + 1000, 1, 64).packets, 300u);
}

TEST(MeterTest, KeepsToItUnderHugeRatesAndBursts) {
  const auto meter =
      NewMeter({.id = 1, .unit = MeterUnit::kKilobits, .bands = {{.rate = ~uint32_t{0}, .burst = ~uint32_t{0}}}}, 2);
  EXPECT_EQ(Offer(*meter, 2, kStart, kStart + 100'000, 1, 1500).packets, 200'000u);
  const auto slow = NewMeter({.id = 1, .unit = MeterUnit::kPackets, .bands = {{.rate = 1, .burst = ~uint32_t{0}}}}, 2);
  EXPECT_EQ(Offer(*slow, 2, kStart, kStart + 100'000, 1, 1500).packets, 200'000u);
}

TEST(MeterTest, TheBandWithTheHighestRateExceededApplies) {
  const std::shared_ptr<MeterCounters> counters = std::make_shared<MeterCounters>(1);
  const Meter meter({.id = 1,
                     .unit = MeterUnit::kPackets,
                     .bands = {{.type = BandType::kDrop, .rate = 200, .burst = 30},
                               {.type = BandType::kRemark, .rate = 100, .burst = 10, .prec_level = 1}}},
                    1, counters);
  unsigned untouched = 0, marked = 0, dropped = 0;
  for (int i = 0; i < 50; ++i) {
    const Meter::Verdict verdict = meter.Admit(0, kStart, 100);
    (verdict.drop ? dropped : verdict.raise != 0 ? marked : untouched)++;
  }
  EXPECT_EQ(untouched, 10u);
  EXPECT_EQ(marked, 20u);
  EXPECT_EQ(dropped, 20u);
  EXPECT_EQ(counters->all.Read(), (PacketCount{50, 5000}));
  EXPECT_EQ(counters->bands[0]->Read(), (PacketCount{20, 2000}));
  EXPECT_EQ(counters->bands[1]->Read(), (PacketCount{20, 2000}));
}

TEST(MeterTest, RaisesDropPrecedenceOfAssuredForwardingOnly) {
  EXPECT_EQ(RaiseDropPrecedence(10, 1), 12);  // AF11 to AF12
  EXPECT_EQ(RaiseDropPrecedence(10, 2), 14);
  EXPECT_EQ(RaiseDropPrecedence(12, 2), 14);  // no further than AF13
  EXPECT_EQ(RaiseDropPrecedence(38, 1), 38);  // AF43
  EXPECT_EQ(RaiseDropPrecedence(34, 1), 36);
  for (const uint8_t dscp : {0, 8, 32, 46, 44, 11, 48, 63}) EXPECT_EQ(RaiseDropPrecedence(dscp, 1), dscp);
}

TEST(MeterTableTest, CountersOutliveAChangeAndBucketsAreFullAgain) {
  Reclaimer reclaimer(1);
  MeterTable meters(1, 2, reclaimer);
  ASSERT_TRUE(meters.Create({.id = 5, .unit = MeterUnit::kPackets, .bands = {{.rate = 1, .burst = 2}}}).ok());
  for (int i = 0; i < 5; ++i) meters.published().Find(5)->Admit(0, kStart, 10);
  const auto changed =
      meters.Update({.id = 5, .unit = MeterUnit::kPackets, .bands = {{.rate = 1, .burst = 3}, {.rate = 9}}}, false);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->count, (PacketCount{5, 50}));
  EXPECT_EQ(changed->band_counts.at(0), (PacketCount{3, 30}));
  EXPECT_EQ(Offer(*meters.published().Find(5), 1, kStart, kStart + 10, 1, 10).packets, 3u);
  EXPECT_EQ(meters.Create({.id = 5}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(meters.Update({.id = 6}, false).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(meters.Update({.id = 6}, true).ok());
  EXPECT_EQ(meters.Create({.id = 7}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(meters.Delete(5)->count, (PacketCount{15, 150}));
  EXPECT_EQ(meters.published().Find(5), nullptr);
  EXPECT_EQ(meters.Delete(5).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sluice
