#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "dataplane/flow/flow_filter.h"
#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FlowListTest : public FlowTest {
 protected:
  std::vector<uint64_t> Ids(const FlowFilter& filter, uint64_t after_id = 0, size_t limit = 100) {
    std::vector<uint64_t> ids;
    for (const FlowInfo& info : table.List(filter, after_id, limit)) ids.push_back(info.id);
    return ids;
  }
};

TEST_F(FlowListTest, EachConditionSelects) {
  const Match net = MatchOf({{Field::kIpv4Dst, 0x0a000000, 0xff000000}});
  const Match host = MatchOf({{Field::kIpv4Dst, 0x0a000001}, {Field::kInPort, 1}});
  const Match other = MatchOf({{Field::kIpv4Dst, 0x0b000001}});
  FlowSpec first = Spec(5, net, 1, 0x11);
  FlowSpec second = Spec(6, host, 2, 0x12);
  second.actions = {Action{.type = ActionType::kOutputAll, .port = 1}, Action{.type = ActionType::kOutput, .port = 3},
                    Action{.type = ActionType::kOutput, .port = 2}};
  FlowSpec third = Spec(5, other, 1, 0x21);
  third.table_id = 4;
  const uint64_t a = Add(first);
  const uint64_t b = Add(second);
  const uint64_t c = Add(third);
  EXPECT_THAT(Ids({}), ElementsAre(a, b, c));
  EXPECT_THAT(Ids({.table_id = 0, .match = {}}), ElementsAre(a, b));
  EXPECT_THAT(Ids({.table_id = 4, .match = {}}), ElementsAre(c));
  EXPECT_THAT(Ids({.table_id = 5, .match = {}}), IsEmpty());
  EXPECT_THAT(Ids({.priority = 5, .match = {}}), ElementsAre(a, c));
  EXPECT_THAT(Ids({.match = net}), ElementsAre(a, b));
  EXPECT_THAT(Ids({.match = host}), ElementsAre(b));
  EXPECT_THAT(Ids({.match = MatchOf({{Field::kInPort, 1}})}), ElementsAre(b));
  EXPECT_THAT(Ids({.match = MatchOf({{Field::kInPort, 2}})}), IsEmpty());
  EXPECT_THAT(Ids({.match = {}, .cookie = 0x10, .cookie_mask = 0xf0}), ElementsAre(a, b));
  EXPECT_THAT(Ids({.match = {}, .cookie = 0xff12, .cookie_mask = 0xff}), ElementsAre(b));
  EXPECT_THAT(Ids({.match = {}, .cookie = 0xff12, .cookie_mask = 0}), ElementsAre(a, b, c));
  EXPECT_THAT(Ids({.match = {}, .out_port = 1}), ElementsAre(a, c));
  EXPECT_THAT(Ids({.match = {}, .out_port = 2}), ElementsAre(b));
  EXPECT_THAT(Ids({.priority = 5, .match = net, .out_port = 1}), ElementsAre(a));
}

TEST_F(FlowListTest, PagesCoverAllFlowsOnceByAscendingId) {
  constexpr uint32_t kFlows = 4321;  // more than is examined under the lock at a time
  std::vector<FlowChange> creates;
  for (uint32_t i = 0; i < kFlows; ++i) creates.push_back(Create(Spec(static_cast<uint16_t>(i % 3), ToHost(i), 1)));
  Write(creates);
  Write({DeleteFlow{uint64_t{5}}, DeleteFlow{uint64_t{2000}}});
  for (const size_t page : {1u, 7u, 1000u, 10000u}) {
    std::vector<uint64_t> ids;
    for (uint64_t after = 0; ids.size() <= kFlows;) {
      const std::vector<uint64_t> more = Ids({}, after, page);
      EXPECT_LE(more.size(), page);
      if (more.empty()) break;
      ids.insert(ids.end(), more.begin(), more.end());
      after = ids.back();
    }
    EXPECT_EQ(ids.size(), kFlows - 2);
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(std::set<uint64_t>(ids.begin(), ids.end()).size(), ids.size());
  }
  EXPECT_EQ(Ids({.priority = 1, .match = {}}, 0, 10000).size(), kFlows / 3 - 2);  // both removed have it
  EXPECT_THAT(Ids({.priority = 9, .match = {}}, 0, 10000), IsEmpty());
  EXPECT_THAT(Ids({}, 0, 0), IsEmpty());
  EXPECT_THAT(Ids({}, kFlows, 10), IsEmpty());
}

TEST_F(FlowListTest, DeleteMatchingSelectsAsListDoes) {
  std::vector<FlowChange> creates;
  for (uint32_t i = 0; i < 300; ++i) creates.push_back(Create(Spec(static_cast<uint16_t>(i % 3), ToHost(i), i % 5, i)));
  Write(creates);
  const FlowFilter filter{.priority = 2, .match = {}, .cookie = 1, .cookie_mask = 1, .out_port = 3};
  const std::vector<uint64_t> selected = Ids(filter, 0, 1000);
  EXPECT_FALSE(selected.empty());
  EXPECT_EQ(DeleteMatching(filter).count, selected.size());
  EXPECT_THAT(Ids(filter), IsEmpty());
  EXPECT_EQ(table.size(), 300 - selected.size());
}

// A list that examines many flows and selects none lets writers in meanwhile.
TEST_F(FlowListTest, WritersGetInWhileAListRuns) {
  std::vector<FlowChange> creates;
  for (uint32_t i = 0; i < 50'000; ++i) creates.push_back(Create(Spec(5, ToHost(i), 1)));
  Write(creates);
  std::atomic<uint64_t> writes = 0;
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    while (!stop) {
      Write({Create(Spec(6, ToHost(0), 1)), DeleteFlow{FlowIdentity{0, 6, ToHost(0)}}}, BatchMode::kPerItem, true);
      ++writes;
    }
  });
  // Should the threads share a CPU, not every list will do.
  uint64_t during = 0;
  for (int round = 0; round < 1000 && during < 10; ++round) {
    const uint64_t before = writes;
    EXPECT_THAT(Ids({.match = {}, .cookie = 1, .cookie_mask = 1}), IsEmpty());
    during = writes - before;
  }
  stop = true;
  EXPECT_GE(during, 10u);
}

}  // namespace
}  // namespace sluice
