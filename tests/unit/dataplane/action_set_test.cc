#include "dataplane/worker/action_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Action Of(ActionType type, uint32_t port = 0) { return {.type = type, .deferred = true, .port = port}; }

std::vector<Action> InOrder(const std::vector<Action>& added) {
  auto set = std::make_unique<ActionSet>();
  for (const Action& action : added) EXPECT_TRUE(set->Add(action));
  std::vector<Action> order;
  for (const Action* action : set->InOrder()) order.push_back(*action);
  return order;
}

TEST(ActionSetTest, OrdersByKindWhateverCameFirst) {
  const Action out = Of(ActionType::kOutput, 2), ttl = Of(ActionType::kDecTtl), mpls_ttl = Of(ActionType::kDecMplsTtl),
               set = Of(ActionType::kSetField), move = Of(ActionType::kMoveField), push = Of(ActionType::kPushVlan),
               push_mpls = Of(ActionType::kPushMpls), pop = Of(ActionType::kPopVlan),
               pop_mpls = Of(ActionType::kPopMpls);
  EXPECT_THAT(InOrder({out, move, set, mpls_ttl, ttl, push, push_mpls, pop_mpls, pop}),
              ElementsAre(pop, pop_mpls, push_mpls, push, ttl, mpls_ttl, move, set, out));
}

TEST(ActionSetTest, TheLastOfAKindCountsButEveryWriteDoes) {
  const Action out = Of(ActionType::kOutput, 2), other = Of(ActionType::kOutput, 3);
  const Action a = Of(ActionType::kSetField, 1), b = Of(ActionType::kSetField, 2);
  EXPECT_THAT(InOrder({out, a, b, a, other}), ElementsAre(a, b, a, other));
}

TEST(ActionSetTest, AGroupTakesTheOutputsPlace) {
  const Action out = Of(ActionType::kOutput, 2), group = Of(ActionType::kGroup, 7);
  EXPECT_THAT(InOrder({group, out}), ElementsAre(group));
}

TEST(ActionSetTest, WithoutAnOutputNothingHappens) {
  EXPECT_THAT(InOrder({Of(ActionType::kSetField), Of(ActionType::kPopVlan)}), IsEmpty());
}

TEST(ActionSetTest, APushForTheUntaggedStaysWithItsWrite) {
  const Action push{.type = ActionType::kPushVlan, .only_if_untagged = true, .deferred = true};
  const Action set = Of(ActionType::kSetField), out = Of(ActionType::kOutput, 1), tag = Of(ActionType::kPushVlan);
  EXPECT_THAT(InOrder({push, set, tag, out}), ElementsAre(tag, push, set, out));
}

TEST(ActionSetTest, IsBoundedAndEmptyAgainWhenCleared) {
  auto set = std::make_unique<ActionSet>();
  const Action write = Of(ActionType::kSetField), out = Of(ActionType::kOutput, 1);
  EXPECT_TRUE(set->empty());
  unsigned n = 0;
  while (set->Add(write)) ++n;
  EXPECT_GE(n, 1000u);
  EXPECT_TRUE(set->Add(out));
  EXPECT_EQ(set->InOrder().size(), n + 1);
  set->Clear();
  EXPECT_TRUE(set->empty());
  EXPECT_TRUE(set->Add(write));
}

}  // namespace
}  // namespace sluice
