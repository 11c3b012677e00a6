// Settings: there and back, what is left out, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "server/convert.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using testing::BadRequestOf;
using ::testing::HasSubstr;

absl::Status Convert(const v1::UpdateSettingsRequest& in, Settings& out) {
  ViolationList violations;
  SettingsFromProto(in, violations, out);
  return violations.ToStatus();
}

Settings Unusual() {
  return {.flow_cache_entries = 7,
          .classifier = {.pruning = false,
                         .equal_priority = EqualPriority::kAny,
                         .mask_cache_entries = 8,
                         .resort_period = absl::Milliseconds(2'500),
                         .pruned_from = 9}};
}

TEST(SettingsTest, WhatIsAbsentStays) {
  Settings settings = Unusual();
  EXPECT_TRUE(Convert({}, settings).ok());
  EXPECT_EQ(settings.flow_cache_entries, 7u);
  EXPECT_EQ(settings.classifier, Unusual().classifier);
}

TEST(SettingsTest, AllComesBack) {
  v1::Settings out;
  SettingsToProto(Unusual(), &out);
  EXPECT_EQ(out.equal_priority(), v1::EQUAL_PRIORITY_ANY);
  EXPECT_EQ(out.resort_period().seconds(), 2);
  EXPECT_EQ(out.resort_period().nanos(), 500'000'000);

  v1::UpdateSettingsRequest in;
  in.set_flow_cache_entries(out.flow_cache_entries());
  in.set_pruning(out.pruning());
  in.set_equal_priority(out.equal_priority());
  in.set_mask_cache_entries(out.mask_cache_entries());
  *in.mutable_resort_period() = out.resort_period();
  Settings settings;
  settings.classifier.pruned_from = 9;  // nobody's to set
  ASSERT_TRUE(Convert(in, settings).ok());
  EXPECT_EQ(settings.flow_cache_entries, 7u);
  EXPECT_EQ(settings.classifier, Unusual().classifier);
}

TEST(SettingsTest, ZerosAreValuesAndSoAreTheLargest) {
  v1::UpdateSettingsRequest in;
  in.set_flow_cache_entries(0);
  in.set_mask_cache_entries(0);
  in.mutable_resort_period();
  in.set_equal_priority(v1::EQUAL_PRIORITY_OLDEST);
  Settings settings = Unusual();
  ASSERT_TRUE(Convert(in, settings).ok());
  EXPECT_EQ(settings.flow_cache_entries, 0u);
  EXPECT_EQ(settings.classifier.mask_cache_entries, 0u);
  EXPECT_EQ(settings.classifier.resort_period, absl::ZeroDuration());
  EXPECT_EQ(settings.classifier.equal_priority, EqualPriority::kOldest);

  in.set_flow_cache_entries(1 << 24);
  in.set_mask_cache_entries(1 << 20);
  in.mutable_resort_period()->set_seconds(86'400);
  ASSERT_TRUE(Convert(in, settings).ok());
  EXPECT_EQ(settings.classifier.resort_period, absl::Hours(24));
}

struct BadSetting {
  const char* what;
  std::function<void(v1::UpdateSettingsRequest&)> set;
  const char* field;
  const char* right;  // what the description must name
};

class BadSettingTest : public ::testing::TestWithParam<BadSetting> {};

TEST_P(BadSettingTest, SaysWhichFieldAndWhatWouldBeRight) {
  v1::UpdateSettingsRequest in;
  GetParam().set(in);
  Settings settings;
  const absl::Status status = Convert(in, settings);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(BadRequestOf(status).field_violations_size(), 1);
  EXPECT_EQ(BadRequestOf(status).field_violations(0).field(), GetParam().field);
  EXPECT_THAT(BadRequestOf(status).field_violations(0).description(), HasSubstr(GetParam().right));
}

const BadSetting kBadSettings[] = {
    {"FlowCacheTooLarge", [](auto& in) { in.set_flow_cache_entries((1 << 24) + 1); }, "flow_cache_entries", "16777216"},
    {"MaskCacheTooLarge", [](auto& in) { in.set_mask_cache_entries((1 << 20) + 1); }, "mask_cache_entries", "1048576"},
    {"UnknownChoice", [](auto& in) { in.set_equal_priority(static_cast<v1::EqualPriority>(3)); }, "equal_priority",
     "EQUAL_PRIORITY_ANY"},
    {"NegativePeriod", [](auto& in) { in.mutable_resort_period()->set_seconds(-1); }, "resort_period", "0 for never"},
    {"NegativeNanos", [](auto& in) { in.mutable_resort_period()->set_nanos(-1); }, "resort_period", "0 for never"},
    {"NoNanos", [](auto& in) { in.mutable_resort_period()->set_nanos(1'000'000'000); }, "resort_period", "86400"},
    {"LongPeriod", [](auto& in) { in.mutable_resort_period()->set_seconds(86'401); }, "resort_period", "86400"},
    {"ABitTooLongPeriod",
     [](auto& in) {
       in.mutable_resort_period()->set_seconds(86'400);
       in.mutable_resort_period()->set_nanos(1);
     },
     "resort_period", "86400"},
};

INSTANTIATE_TEST_SUITE_P(Settings, BadSettingTest, ::testing::ValuesIn(kBadSettings),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(SettingsTest, AllThatIsWrongIsTold) {
  v1::UpdateSettingsRequest in;
  for (const BadSetting& bad : {kBadSettings[0], kBadSettings[1], kBadSettings[2], kBadSettings[3]}) bad.set(in);
  Settings settings;
  EXPECT_EQ(BadRequestOf(Convert(in, settings)).field_violations_size(), 4);
}

TEST(CountersTest, OfWorkersAndTablesArrive) {
  v1::Worker worker;
  WorkerToProto({.flow_cache_hits = 1, .flow_cache_misses = 2, .flow_cache_evictions = 3, .totals = {}}, &worker);
  EXPECT_EQ(worker.flow_cache_hits(), 1u);
  EXPECT_EQ(worker.flow_cache_misses(), 2u);
  EXPECT_EQ(worker.flow_cache_evictions(), 3u);
  v1::Table table;
  TableToProto({.mask_cache_hits = 1, .pruned_lookups = 2, .indexed_masks = 3, .index_bytes = 4}, &table);
  EXPECT_EQ(table.mask_cache_hits(), 1u);
  EXPECT_EQ(table.pruned_lookups(), 2u);
  EXPECT_EQ(table.indexed_masks(), 3u);
  EXPECT_EQ(table.index_bytes(), 4u);
}

}  // namespace
}  // namespace sluice
