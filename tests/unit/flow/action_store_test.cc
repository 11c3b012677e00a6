#include "dataplane/flow/action_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

TEST(ActionStoreTest, KeepsEqualListsOnce) {
  ActionStore store;
  const StoredActions* a = store.Acquire(Output(1));
  const StoredActions* b = store.Acquire(Output(1));
  const StoredActions* other = store.Acquire(Output(2));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  EXPECT_EQ(store.size(), 2u);
  store.Release(a);
  EXPECT_EQ(store.size(), 2u);
  EXPECT_EQ(b->actions()[0].port, 1u);
  store.Release(b);
  EXPECT_EQ(store.size(), 1u);
  store.Release(other);
  EXPECT_EQ(store.size(), 0u);
}

TEST(ActionStoreTest, TellsListsApartByEveryMember) {
  const Action base{.type = ActionType::kSetField, .field = Field::kIpv4Dst, .value = 1, .mask = 0xff};
  std::vector<ActionList> lists = {{}, {base}, {base, base}};
  lists.resize(3 + 7, {base});
  lists[3][0].type = ActionType::kOutput;
  lists[4][0].field = Field::kIpv4Src;
  lists[5][0].only_if_untagged = true;
  lists[6][0].tpid = 0x8100;
  lists[7][0].port = 1;
  lists[8][0].value = 2;
  lists[9][0].mask = 1;
  ActionStore store;
  std::vector<const StoredActions*> stored;
  for (const ActionList& list : lists) stored.push_back(store.Acquire(list));
  EXPECT_EQ(store.size(), lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    EXPECT_EQ(ActionList(stored[i]->actions().begin(), stored[i]->actions().end()), lists[i]);
    store.Release(stored[i]);
  }
}

Action Set(Field field, uint64_t value) {
  return {.type = ActionType::kSetField, .field = field, .value = value, .mask = absl::Uint128Max()};
}

TEST(ActionStoreTest, HeadersSayAllOfListsThatSwitchOrRoute) {
  const Action out = Output(7)[0];
  const Action ttl{.type = ActionType::kDecTtl};
  const Action back{.type = ActionType::kOutputInPort};
  const Action dst = Set(Field::kEthDst, 0x020000000001);
  const Action src = Set(Field::kEthSrc, 0x020000000002);
  ActionStore store;
  for (const ActionList& list : {ActionList{out}, {dst, out}, {src, ttl, dst, out}, {ttl, out}}) {
    const StoredActions* stored = store.Acquire(list);
    EXPECT_EQ(stored->only_port, 7u);
    EXPECT_EQ(stored->decrements_ttl, std::ranges::find(list, ttl) != list.end());
    EXPECT_EQ(stored->rewrites, list.size() > 1);
    store.Release(stored);
  }
  for (const ActionList& list : {ActionList{},
                                 {dst},
                                 {out, out},
                                 {out, dst},
                                 {ttl, ttl, out},
                                 {back},
                                 {Set(Field::kIpv4Dst, 1), out},
                                 {Action{.type = ActionType::kPopVlan}, out}}) {
    const StoredActions* stored = store.Acquire(list);
    EXPECT_EQ(stored->only_port, StoredActions::kNoOnlyPort);
    store.Release(stored);
  }
}

}  // namespace
}  // namespace sluice
