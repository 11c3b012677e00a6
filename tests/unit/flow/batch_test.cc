// Batches that fail, are only tried, or meet a limit.

#include "dataplane/flow/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<StatusCode> Codes(const std::vector<FlowChangeResult>& results) {
  std::vector<StatusCode> codes;
  for (const FlowChangeResult& result : results) codes.push_back(result.status.code());
  return codes;
}

class BatchTest : public FlowTest {
 protected:
  using FlowTest::FlowTest;

  // All of the table that a client can see, but for ids.
  struct Picture {
    std::vector<FlowInfo> flows;
    std::vector<MaskInfo> masks;
    size_t tables;
  };
  Picture TakePicture() { return {table.List({}, 0, 1000), table.Masks(0), table.Tables().size()}; }
  void ExpectSame(const Picture& before) {
    const Picture now = TakePicture();
    ASSERT_EQ(now.flows.size(), before.flows.size());
    for (size_t i = 0; i < now.flows.size(); ++i) {
      EXPECT_EQ(now.flows[i].id, before.flows[i].id);
      EXPECT_EQ(now.flows[i].spec.match, before.flows[i].spec.match);
      EXPECT_EQ(now.flows[i].spec.actions, before.flows[i].spec.actions);
      EXPECT_EQ(now.flows[i].spec.cookie, before.flows[i].spec.cookie);
      EXPECT_EQ(now.flows[i].stats.packets, before.flows[i].stats.packets);
    }
    ASSERT_EQ(now.masks.size(), before.masks.size());
    for (size_t i = 0; i < now.masks.size(); ++i) {
      EXPECT_EQ(now.masks[i].mask, before.masks[i].mask);
      EXPECT_EQ(now.masks[i].flow_count, before.masks[i].flow_count);
      EXPECT_EQ(now.masks[i].max_priority, before.masks[i].max_priority);
    }
    EXPECT_EQ(now.tables, before.tables);
  }
};

TEST_F(BatchTest, AFailedBatchLeavesNoTrace) {
  const uint64_t a = Add(Spec(5, kPort1, 1, 0xa));
  const uint64_t b = Add(Spec(5, kPort2, 2, 0xb));
  Hit(kFromPort1, 0, 7, 700);
  Hit(kFromPort2, 0, 9, 900);
  const Picture before = TakePicture();
  const uint64_t version = table.classifier().version();
  FlowSpec elsewhere = Spec(5, kUdp, 3);
  elsewhere.table_id = 9;
  CreateFlow replace = Create(Spec(5, kPort1, 4, 0xc));
  replace.allow_existing = true;
  const auto results = Write({Create(Spec(100, kNet10, 3)),                     // a new mask, above all
                              Create(Spec(200, kPort1, 3)), Create(elsewhere),  //
                              UpdateFlow{.key = FlowIdentity{0, 200, kPort1}, .actions = Output(5)},
                              replace,                                                                       //
                              UpdateFlow{.key = b, .actions = Output(6), .cookie = 1, .reset_stats = true},  //
                              DeleteFlow{a}, Create(Spec(5, kPort1, 7)), DeleteFlow{b},                      //
                              DeleteFlow{uint64_t{999}}},
                             BatchMode::kAllOrNothing);
  EXPECT_THAT(Codes(results),
              ElementsAre(StatusCode::kAborted, StatusCode::kAborted, StatusCode::kAborted, StatusCode::kAborted,
                          StatusCode::kAborted, StatusCode::kAborted, StatusCode::kAborted, StatusCode::kAborted,
                          StatusCode::kAborted, StatusCode::kNotFound));
  ExpectSame(before);
  EXPECT_EQ(table.classifier().version(), version);
  EXPECT_EQ(PortOf(Find(kFromPort1)), 1u);
  EXPECT_EQ(PortOf(Find(kFromPort2)), 2u);
  EXPECT_EQ(Find(kFromPort1, version, 9), nullptr);
  // And nothing that shows later.
  reclaimer.Flush();
  Add(Spec(1, kUdp, 1));
  WriteOne(DeleteFlow{FlowIdentity{0, 1, kUdp}});
  reclaimer.Flush();
  ExpectSame(before);
  EXPECT_EQ(PortOf(Find(kFromPort1)), 1u);
  EXPECT_EQ(StatsOf(b).packets, 9u);
  EXPECT_EQ(WriteOne(DeleteFlow{a}).flow.stats.packets, 7u);
}

TEST_F(BatchTest, EveryFailureOfABatchIsReported) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  const auto results = Write({Create(Spec(5, kPort1, 2)), Create(Spec(5, kPort2, 2)), absl::InvalidArgumentError("no"),
                              DeleteFlow{uint64_t{999}}},
                             BatchMode::kAllOrNothing);
  EXPECT_THAT(Codes(results), ElementsAre(StatusCode::kAlreadyExists, StatusCode::kAborted,
                                          StatusCode::kInvalidArgument, StatusCode::kNotFound));
  EXPECT_EQ(results[0].other_id, id);
  EXPECT_EQ(results[1].flow.id, 0u);
}

TEST_F(BatchTest, PerItemCarriesOutWhatItCan) {
  const auto results = Write({Create(Spec(5, kPort1, 1)), Create(Spec(5, kPort1, 2)), Create(Spec(5, kPort2, 2))});
  EXPECT_THAT(Codes(results), ElementsAre(StatusCode::kOk, StatusCode::kAlreadyExists, StatusCode::kOk));
  EXPECT_EQ(table.size(), 2u);
}

TEST_F(BatchTest, TryingAnswersAsIf) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  Hit(kFromPort1, 0, 2, 200);
  const Picture before = TakePicture();
  for (const BatchMode mode : {BatchMode::kPerItem, BatchMode::kAllOrNothing}) {
    const auto results =
        Write({Create(Spec(5, kNet10, 2)), UpdateFlow{.key = FlowIdentity{0, 5, kNet10}, .actions = {}}, DeleteFlow{id},
               Create(Spec(5, kPort1, 3))},
              mode, true);
    EXPECT_THAT(Codes(results), ElementsAre(StatusCode::kOk, StatusCode::kOk, StatusCode::kOk, StatusCode::kOk));
    EXPECT_TRUE(results[0].created);
    EXPECT_EQ(results[0].flow.id, 0u);
    EXPECT_EQ(results[0].flow.spec.match, kNet10);
    EXPECT_EQ(results[1].flow.id, 0u);
    EXPECT_EQ(results[2].flow.id, id);
    EXPECT_EQ(results[2].flow.stats.packets, 2u);
    ExpectSame(before);
  }
  const auto refused = Write({Create(Spec(5, kPort1, 2)), Create(Spec(5, kNet10, 2))}, BatchMode::kPerItem, true);
  EXPECT_THAT(Codes(refused), ElementsAre(StatusCode::kAlreadyExists, StatusCode::kOk));
  ExpectSame(before);
}

TEST_F(BatchTest, TryingADeleteAnswersAtOnce) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  reclaimer.Online(0);  // a grace period would not end
  const auto results = Write({DeleteFlow{id}}, BatchMode::kPerItem, true);
  EXPECT_TRUE(results[0].status.ok());
  reclaimer.Offline(0);
  EXPECT_EQ(table.size(), 1u);
}

class LimitsTest : public BatchTest {
 protected:
  LimitsTest() : BatchTest(FlowTableLimits{.max_flows = 4, .max_masks_per_table = 2}) {}
};

TEST_F(LimitsTest, FlowsAreLimited) {
  for (uint16_t priority = 1; priority <= 4; ++priority) Add(Spec(priority, kPort1, 1));
  const FlowChangeResult refused = WriteOne(Create(Spec(5, kPort1, 1)));
  EXPECT_EQ(refused.status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status.message(), HasSubstr("limits.flows allows: 4"));
  // Not what needs no room: replacing, and taking a place that the batch frees.
  CreateFlow existing = Create(Spec(4, kPort1, 2));
  existing.allow_existing = true;
  EXPECT_TRUE(WriteOne(existing).status.ok());
  EXPECT_THAT(
      Codes(Write({DeleteFlow{FlowIdentity{0, 1, kPort1}}, Create(Spec(5, kPort1, 1)), Create(Spec(6, kPort1, 1))})),
      ElementsAre(StatusCode::kOk, StatusCode::kOk, StatusCode::kResourceExhausted));
  EXPECT_EQ(table.size(), 4u);
}

TEST_F(LimitsTest, MasksAreLimitedPerTable) {
  Add(Spec(1, kPort1, 1));
  Add(Spec(1, kNet10, 1));
  const FlowChangeResult refused = WriteOne(Create(Spec(1, kUdp, 1)));
  EXPECT_EQ(refused.status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status.message(), HasSubstr("table 0"));
  EXPECT_THAT(refused.status.message(), HasSubstr("limits.masks_per_table allows: 2"));
  EXPECT_THAT(table.Masks(0), SizeIs(2));
  Add(Spec(1, kPort2, 1));  // a mask that is there
  FlowSpec elsewhere = Spec(1, kUdp, 1);
  elsewhere.table_id = 1;
  Add(elsewhere);
}

TEST_F(LimitsTest, AMaskThatABatchEmptiesMakesRoom) {
  Add(Spec(1, kPort1, 1));
  Add(Spec(1, kNet10, 1));
  reclaimer.Online(0);  // the old mask stays in the array for this worker
  auto moved =
      WriteLater({DeleteFlow{FlowIdentity{0, 1, kNet10}}, Create(Spec(1, kUdp, 1)), Create(Spec(1, kNet10, 1))});
  EXPECT_THAT(table.Masks(0), SizeIs(2));
  EXPECT_EQ(table.Tables()[0].mask_count, 2u);
  reclaimer.Offline(0);
  EXPECT_THAT(Codes(moved.get()), ElementsAre(StatusCode::kOk, StatusCode::kOk, StatusCode::kResourceExhausted));
}

TEST_F(LimitsTest, RefusedAndUndoneFlowsDoNotCount) {
  for (int round = 0; round < 5; ++round) {
    Write({Create(Spec(1, kPort1, 1)), Create(Spec(1, kNet10, 1)), DeleteFlow{uint64_t{999}}},
          BatchMode::kAllOrNothing);
    Write({Create(Spec(1, kUdp, 1)), Create(Spec(1, kNet10, 1)), Create(Spec(1, kPort1, 1))}, BatchMode::kPerItem,
          true);
  }
  EXPECT_EQ(table.size(), 0u);
  EXPECT_THAT(table.Masks(0), SizeIs(0));
  Add(Spec(1, kPort1, 1));
  Add(Spec(1, kNet10, 1));
  Add(Spec(2, kNet10, 1));
  Add(Spec(3, kNet10, 1));
}

}  // namespace
}  // namespace sluice
