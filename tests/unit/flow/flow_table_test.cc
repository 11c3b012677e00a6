#include "dataplane/flow/flow_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

const Match kNet10Port1 = MatchOf({{Field::kIpv4Dst, 0x0a000000, 0xff000000}, {Field::kInPort, 1}});
const PacketKey kToNet10 = KeyOf({{Field::kInPort, 1}, {Field::kIpv4Dst, 0x0a010203}});

class FlowTableTest : public FlowTest {};

TEST_F(FlowTableTest, AFlowIsFoundAsItWasWritten) {
  FlowSpec spec = Spec(10, kNet10Port1, 7, 0xc0);
  spec.actions.push_back({.type = ActionType::kSetField, .field = Field::kIpTtl, .value = 3, .mask = 0xff});
  const absl::Time before = absl::Now();
  const FlowChangeResult result = WriteOne(Create(spec));
  ASSERT_TRUE(result.status.ok());
  EXPECT_TRUE(result.created);
  for (const FlowKey& key : {FlowKey(result.flow.id), FlowKey(IdentityOf(spec))}) {
    const absl::StatusOr<FlowInfo> info = table.Get(key);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->id, result.flow.id);
    EXPECT_EQ(info->spec.table_id, 0);
    EXPECT_EQ(info->spec.priority, 10);
    EXPECT_EQ(info->spec.match, kNet10Port1);
    EXPECT_EQ(info->spec.actions, spec.actions);
    EXPECT_EQ(info->spec.cookie, 0xc0u);
    EXPECT_EQ(info->stats.packets, 0u);
    EXPECT_EQ(info->stats.last_used, absl::InfinitePast());
    EXPECT_GE(info->create_time, before - absl::Microseconds(1));
    EXPECT_LE(info->create_time, absl::Now());
  }
  EXPECT_EQ(PortOf(Find(kToNet10)), 7u);
  EXPECT_EQ(Find(kFromPort1), nullptr);
}

TEST_F(FlowTableTest, TheHighestPriorityWinsThenTheOldest) {
  Add(Spec(5, kNet10, 1));
  Add(Spec(5, kPort1, 2));
  EXPECT_EQ(PortOf(Find(kToNet10)), 1u);
  Add(Spec(6, kNet10Port1, 3));
  EXPECT_EQ(PortOf(Find(kToNet10)), 3u);
  Add(Spec(9, Match{}, 4));
  EXPECT_EQ(PortOf(Find(kToNet10)), 4u);
  Add(Spec(0, kNet10Port1, 5));
  EXPECT_EQ(PortOf(Find(kToNet10)), 4u);
}

TEST_F(FlowTableTest, AgeIsKeptThroughModify) {
  Add(Spec(5, kNet10, 1));
  Add(Spec(5, kPort1, 2));
  ASSERT_TRUE(WriteOne(UpdateFlow{.key = IdentityOf(Spec(5, kNet10, 1)), .actions = Output(11)}).status.ok());
  EXPECT_EQ(PortOf(Find(kToNet10)), 11u);
  CreateFlow again = Create(Spec(5, kNet10, 12));
  again.allow_existing = true;
  ASSERT_TRUE(WriteOne(again).status.ok());
  EXPECT_EQ(PortOf(Find(kToNet10)), 12u);
  // Not through delete.
  ASSERT_TRUE(WriteOne(DeleteFlow{IdentityOf(Spec(5, kNet10, 1))}).status.ok());
  Add(Spec(5, kNet10, 13));
  EXPECT_EQ(PortOf(Find(kToNet10)), 2u);
}

TEST_F(FlowTableTest, PrioritiesOfOneMatchAreFlowsOfTheirOwn) {
  const uint64_t low = Add(Spec(1, kPort1, 1));
  const uint64_t high = Add(Spec(9, kPort1, 9));
  const uint64_t middle = Add(Spec(5, kPort1, 5));
  EXPECT_EQ(PortOf(Find(kFromPort1)), 9u);
  WriteOne(DeleteFlow{high});
  EXPECT_EQ(PortOf(Find(kFromPort1)), 5u);
  WriteOne(DeleteFlow{middle});
  EXPECT_EQ(PortOf(Find(kFromPort1)), 1u);
  WriteOne(DeleteFlow{low});
  EXPECT_EQ(Find(kFromPort1), nullptr);
}

TEST_F(FlowTableTest, CreateOfAnExistingFlowNamesIt) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  const FlowChangeResult result = WriteOne(Create(Spec(5, kPort1, 2)));
  EXPECT_EQ(result.status.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(result.status.message(), HasSubstr(absl::StrCat("flow ", id)));
  EXPECT_EQ(result.other_id, id);
  EXPECT_EQ(PortOf(Find(kFromPort1)), 1u);
}

TEST_F(FlowTableTest, AllowExistingReplacesActionsAndCookieOnly) {
  const uint64_t id = Add(Spec(5, kPort1, 1, 0xa));
  Hit(kFromPort1, 0, 3, 300);
  const FlowInfo before = *table.Get(id);
  CreateFlow again = Create(Spec(5, kPort1, 2, 0xb));
  again.allow_existing = again.check_overlap = true;
  const FlowChangeResult result = WriteOne(again);
  ASSERT_TRUE(result.status.ok());
  EXPECT_FALSE(result.created);
  EXPECT_EQ(result.flow.id, id);
  EXPECT_EQ(result.flow.create_time, before.create_time);
  EXPECT_EQ(result.flow.stats.packets, 3u);
  EXPECT_EQ(result.flow.stats.bytes, 300u);
  EXPECT_EQ(result.flow.spec.cookie, 0xbu);
  EXPECT_EQ(PortOf(Find(kFromPort1)), 2u);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(FlowTableTest, CheckOverlapRefusesEqualPriorityOnly) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  CreateFlow create = Create(Spec(5, kNet10, 2));
  create.check_overlap = true;
  const FlowChangeResult refused = WriteOne(create);
  EXPECT_EQ(refused.status.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(refused.other_id, id);
  EXPECT_THAT(refused.status.message(), HasSubstr(absl::StrCat("flow ", id)));
  create.spec.priority = 6;
  EXPECT_TRUE(WriteOne(create).status.ok());
  create.spec = Spec(5, kPort2, 2);
  EXPECT_TRUE(WriteOne(create).status.ok()) << "disjoint";
  create.spec = Spec(5, kNet10, 2);
  create.spec.table_id = 1;
  EXPECT_TRUE(WriteOne(create).status.ok()) << "another table";
}

TEST_F(FlowTableTest, CheckOverlapSeesTheBatchItIsIn) {
  CreateFlow second = Create(Spec(5, kNet10, 2));
  second.check_overlap = true;
  const auto results = Write({Create(Spec(5, kPort1, 1)), second});
  EXPECT_EQ(results[1].status.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(results[1].other_id, results[0].flow.id);
}

TEST_F(FlowTableTest, UnknownFlowsAreNamed) {
  EXPECT_EQ(table.Get(FlowKey(uint64_t{77})).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(table.Get(FlowKey(uint64_t{77})).status().message(), HasSubstr("id 77"));
  const FlowChangeResult update = WriteOne(UpdateFlow{.key = uint64_t{78}, .actions = {}});
  EXPECT_EQ(update.status.code(), StatusCode::kNotFound);
  EXPECT_THAT(update.status.message(), HasSubstr("id 78"));
  Add(Spec(5, kPort1, 1));
  const FlowChangeResult remove = WriteOne(DeleteFlow{FlowIdentity{0, 6, kPort1}});
  EXPECT_EQ(remove.status.code(), StatusCode::kNotFound);
  EXPECT_THAT(remove.status.message(), HasSubstr("table 0 with priority 6"));
  EXPECT_EQ(WriteOne(DeleteFlow{FlowIdentity{3, 5, kPort1}}).status.code(), StatusCode::kNotFound);
  EXPECT_EQ(WriteOne(DeleteFlow{FlowIdentity{0, 5, kPort2}}).status.code(), StatusCode::kNotFound);
  EXPECT_EQ(WriteOne(DeleteFlow{FlowIdentity{0, 5, kNet10}}).status.code(), StatusCode::kNotFound);
}

TEST_F(FlowTableTest, UpdateKeepsTheCookieUnlessTold) {
  const uint64_t id = Add(Spec(5, kPort1, 1, 0xa));
  EXPECT_EQ(WriteOne(UpdateFlow{.key = id, .actions = Output(2)}).flow.spec.cookie, 0xau);
  EXPECT_EQ(WriteOne(UpdateFlow{.key = id, .actions = Output(2), .cookie = 0xb}).flow.spec.cookie, 0xbu);
  EXPECT_EQ(WriteOne(UpdateFlow{.key = id, .actions = {}}).flow.spec.actions, ActionList{});
  EXPECT_TRUE(ActionsOf(*Find(kFromPort1)).empty());
}

TEST_F(FlowTableTest, ItemsSeeWhatThoseBeforeThemDid) {
  const FlowIdentity identity{0, 5, kPort1};
  const auto results = Write({Create(Spec(5, kPort1, 1)), UpdateFlow{.key = identity, .actions = Output(2)},
                              UpdateFlow{.key = identity, .actions = Output(3), .cookie = 9}, DeleteFlow{identity},
                              DeleteFlow{identity}, Create(Spec(5, kPort1, 4)), Create(Spec(5, kPort1, 5))});
  std::vector<StatusCode> codes;
  for (const FlowChangeResult& result : results) codes.push_back(result.status.code());
  EXPECT_THAT(codes, ElementsAre(StatusCode::kOk, StatusCode::kOk, StatusCode::kOk, StatusCode::kOk,
                                 StatusCode::kNotFound, StatusCode::kOk, StatusCode::kAlreadyExists));
  EXPECT_EQ(results[3].flow.spec.cookie, 9u);
  EXPECT_NE(results[5].flow.id, results[0].flow.id);
  EXPECT_EQ(results[6].other_id, results[5].flow.id);
  EXPECT_EQ(PortOf(Find(kFromPort1)), 4u);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(FlowTableTest, AFlowMayBeRemovedAndAddedInOneBatch) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  Hit(kFromPort1, 0, 4, 400);
  const auto results = Write({DeleteFlow{id}, Create(Spec(5, kPort1, 2))}, BatchMode::kAllOrNothing);
  EXPECT_EQ(results[0].flow.stats.packets, 4u);
  EXPECT_EQ(StatsOf(results[1].flow.id).packets, 0u);
  EXPECT_EQ(PortOf(Find(kFromPort1)), 2u);
  EXPECT_EQ(table.Masks(0).size(), 1u);
}

TEST_F(FlowTableTest, ManyChangesOfOneFlowInOneBatch) {
  std::vector<FlowChange> changes = {Create(Spec(5, kPort1, 0))};
  for (uint32_t i = 1; i < 3000; ++i)
    changes.push_back(UpdateFlow{.key = FlowIdentity{0, 5, kPort1}, .actions = Output(i)});
  for (uint32_t i = 0; i < 500; ++i) {
    changes.push_back(DeleteFlow{FlowIdentity{0, 5, kPort1}});
    changes.push_back(Create(Spec(5, kPort1, 5000 + i)));
  }
  for (const FlowChangeResult& result : Write(changes)) ASSERT_TRUE(result.status.ok()) << result.status;
  reclaimer.Flush();
  EXPECT_EQ(PortOf(Find(kFromPort1)), 5499u);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(FlowTableTest, AnItemRefusedBeforeStandsInItsPlace) {
  const auto results =
      Write({Create(Spec(5, kPort1, 1)), absl::InvalidArgumentError("no such thing"), Create(Spec(5, kPort2, 2))});
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[1].status, absl::InvalidArgumentError("no such thing"));
  EXPECT_TRUE(results[2].status.ok());
  EXPECT_EQ(table.size(), 2u);
}

TEST_F(FlowTableTest, DeleteMatchingSumsWhatItRemoved) {
  Add(Spec(5, kPort1, 1, 0x11));
  Add(Spec(6, kPort2, 1, 0x12));
  Add(Spec(7, kNet10, 2, 0x21));
  Hit(kFromPort1, 0, 1, 100, 50);
  Hit(KeyOf({{Field::kInPort, 2}}), 1, 2, 200, 70);
  const FlowTable::DeletedSum sum = DeleteMatching({.match = {}, .cookie = 0x10, .cookie_mask = 0xf0});
  EXPECT_EQ(sum.count, 2u);
  EXPECT_EQ(sum.stats.packets, 3u);
  EXPECT_EQ(sum.stats.bytes, 300u);
  EXPECT_EQ(sum.stats.last_used, absl::FromUnixNanos(70));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(DeleteMatching({.match = {}, .cookie = 0x10, .cookie_mask = 0xf0}).count, 0u);
}

TEST_F(FlowTableTest, CountersSurviveModifyAndStartAnewOnDemand) {
  const uint64_t id = Add(Spec(5, kPort1, 1));
  Hit(kFromPort1, 0, 1, 60, 10);
  Hit(kFromPort1, 1, 2, 120, 30);
  WriteOne(UpdateFlow{.key = id, .actions = Output(2)});
  Hit(kFromPort1, 2, 4, 240, 20);
  EXPECT_EQ(StatsOf(id).packets, 7u);
  EXPECT_EQ(StatsOf(id).bytes, 420u);
  EXPECT_EQ(StatsOf(id).last_used, absl::FromUnixNanos(30));
  const FlowChangeResult reset = WriteOne(UpdateFlow{.key = id, .actions = Output(2), .reset_stats = true});
  EXPECT_EQ(reset.flow.stats.packets, 0u);
  Hit(kFromPort1, 0, 1, 60, 40);
  EXPECT_EQ(StatsOf(id).packets, 1u);
  EXPECT_EQ(WriteOne(DeleteFlow{id}).flow.stats.bytes, 60u);
}

TEST_F(FlowTableTest, TablesAreApart) {
  FlowSpec elsewhere = Spec(5, kPort1, 2);
  elsewhere.table_id = 254;
  Add(Spec(5, kPort1, 1));
  Add(elsewhere);
  const uint64_t version = table.classifier().version();
  EXPECT_EQ(PortOf(Find(kFromPort1, version, 0)), 1u);
  EXPECT_EQ(PortOf(Find(kFromPort1, version, 254)), 2u);
  EXPECT_EQ(Find(kFromPort1, version, 7), nullptr);
  const std::vector<TableInfo> tables = table.Tables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].id, 0);
  EXPECT_EQ(tables[1].id, 254);
  EXPECT_EQ(tables[1].flow_count, 1u);
  EXPECT_EQ(table.Get(IdentityOf(elsewhere))->spec.table_id, 254);
}

TEST_F(FlowTableTest, MasksAreListedAsLookupsTryThem) {
  Add(Spec(5, kPort1, 1));
  Add(Spec(5, kPort2, 1));
  Add(Spec(9, kNet10, 2));
  Add(Spec(1, Match{}, 3));
  PacketKey keys[3] = {kFromPort1, kToNet10, KeyOf({{Field::kInPort, 9}})};
  const ClassifierEntry* entries[3];
  table.classifier().Lookup(1, 0, table.classifier().version(), keys, 3, entries);
  const std::vector<MaskInfo> masks = table.Masks(0);
  ASSERT_EQ(masks.size(), 3u);
  EXPECT_EQ(masks[0].mask, kNet10.mask);
  EXPECT_EQ(masks[1].mask, kPort1.mask);
  EXPECT_EQ(masks[2].mask, PacketKey{});
  EXPECT_EQ(masks[1].flow_count, 2u);
  EXPECT_EQ(masks[1].max_priority, 5);
  EXPECT_EQ(masks[0].lookups, 3u);
  EXPECT_EQ(masks[0].hits, 1u);
  EXPECT_EQ(masks[1].lookups, 2u);
  EXPECT_EQ(masks[1].hits, 1u);
  EXPECT_EQ(masks[2].lookups, 1u);
  EXPECT_EQ(masks[2].hits, 1u);
  const TableInfo info = table.Tables()[0];
  EXPECT_EQ(info.flow_count, 4u);
  EXPECT_EQ(info.mask_count, 3u);
  EXPECT_EQ(info.lookups, 3u);
  EXPECT_EQ(info.matches, 3u);
  EXPECT_EQ(info.masks_visited, 6u);
}

// A packet that a later mask could still win goes on; the mask it first hit
// gets no hit for it.
TEST_F(FlowTableTest, OnlyTheWinnersMaskCountsAHit) {
  Add(Spec(9, kPort2, 1));
  Add(Spec(3, kPort1, 2));
  Add(Spec(5, kNet10, 3));
  EXPECT_EQ(PortOf(Find(kToNet10)), 3u);
  for (const MaskInfo& mask : table.Masks(0)) EXPECT_EQ(mask.hits, mask.mask == kNet10.mask ? 1u : 0u);
}

// Mostly of use with ThreadSanitizer: many threads write and read.
TEST_F(FlowTableTest, AnyThreadMayCall) {
  std::vector<std::jthread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (uint32_t i = 0; i < 200; ++i) {
        const Match match = MatchOf({{Field::kInPort, 100 * (t + 1) + i % 10}});
        table.Write(std::vector<FlowChange>{Create(Spec(5, match, 1))}, BatchMode::kPerItem, false, [](auto) {});
        table.Write(std::vector<FlowChange>{DeleteFlow{FlowIdentity{0, 5, match}}}, BatchMode::kPerItem, false,
                    [](auto) {});
        table.List({}, 0, 10);
        table.Masks(0);
        table.Tables();
        table.Housekeep();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace sluice
