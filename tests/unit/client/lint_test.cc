// Lint by examples, and against packets: a world so small that all of its packets
// can be tried.

#include "client/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/flow_text.h"

namespace sluice::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<v1::FlowSpec> Flows(const std::vector<std::string>& texts) {
  std::vector<v1::FlowSpec> specs;
  for (const std::string& text : texts) {
    const absl::StatusOr<FlowText> flow = ParseFlow(text, {});
    EXPECT_TRUE(flow.ok()) << flow.status();
    if (flow.ok()) specs.push_back(flow->spec);
  }
  return specs;
}

// "shadowed 1 0": kind, flow, other; of tables the table's number.
std::vector<std::string> Found(const std::vector<std::string>& texts, const std::vector<v1::Table>& tables = {}) {
  std::vector<std::string> found;
  for (const LintFinding& f : LintFlows(Flows(texts), tables, 0).findings) {
    found.push_back(f.kind == LintKind::kUnreachable ? absl::StrCat("unreachable ", f.table_id)
                                                     : absl::StrCat(LintKindName(f.kind), " ", f.flow, " ", f.other));
  }
  return found;
}

TEST(Lint, NamesTheHighestFlowThatShadows) {
  EXPECT_THAT(Found({"priority=1,tcp,tp_dst=80,actions=1", "priority=5,ip,actions=2", "priority=9,actions=3"}),
              ElementsAre("shadowed 0 2", "shadowed 1 2"));
}

TEST(Lint, AmongEqualsTheOlderShadows) {
  EXPECT_THAT(Found({"ip,actions=1", "tcp,actions=2"}), ElementsAre("shadowed 1 0"));
  EXPECT_THAT(Found({"tcp,actions=1", "ip,actions=2"}), ElementsAre("overlap 0 1"));
}

TEST(Lint, WhatIsImpliedCounts) {
  // A VID needs a tag, a port no later fragment.
  EXPECT_THAT(Found({"priority=2,vlan_tci=0x1000/0x1000,actions=1", "priority=1,dl_vlan=5,actions=2"}),
              ElementsAre("shadowed 1 0"));
  EXPECT_THAT(Found({"vlan_tci=0,actions=1", "dl_vlan=5,actions=2"}), IsEmpty());
  EXPECT_THAT(Found({"tcp,nw_frag=later,actions=1", "tcp,tp_dst=5,actions=2"}), IsEmpty());
  EXPECT_THAT(Found({"priority=2,tcp,nw_frag=not_later,actions=1", "priority=1,tcp,tp_dst=5,actions=2"}),
              ElementsAre("shadowed 1 0"));
}

TEST(Lint, ComparesRangesWithMasks) {
  EXPECT_THAT(Found({"priority=2,tcp,tp_dst=1000-2000,actions=1", "priority=1,tcp,tp_dst=1024/0xfc00,actions=2"}),
              IsEmpty());
  EXPECT_THAT(Found({"priority=2,tcp,tp_dst=1000-2047,actions=1", "priority=1,tcp,tp_dst=1024/0xfc00,actions=2"}),
              ElementsAre("shadowed 1 0"));
  EXPECT_THAT(Found({"priority=2,tcp,tp_dst=0/1,actions=1", "priority=1,tcp,tp_dst=10-11,actions=2"}), IsEmpty());
  EXPECT_THAT(Found({"tcp,tp_dst=11-13,actions=1", "tcp,tp_dst=14/0xf,actions=2"}), IsEmpty());
  EXPECT_THAT(Found({"tcp,tp_dst=11-14,actions=1", "tcp,tp_dst=14/0xf,actions=2"}), ElementsAre("overlap 0 1"));
}

TEST(Lint, FlowsOfOtherTablesAreApart) {
  EXPECT_THAT(Found({"priority=2,actions=goto_table:1", "table=1,priority=1,ip,actions=1"}), IsEmpty());
}

TEST(Lint, TablesAreReachedByFlowsThatCanWin) {
  const std::vector<std::string> flows = {"priority=2,actions=goto_table:3", "priority=1,ip,actions=goto_table:5",
                                          "table=3,actions=1", "table=4,actions=1", "table=5,actions=1"};
  EXPECT_THAT(Found(flows), ElementsAre("shadowed 1 0", "unreachable 4", "unreachable 5"));
  v1::Table goes_on;
  goes_on.set_id(3);
  goes_on.set_miss_policy(v1::MISS_POLICY_CONTINUE);
  EXPECT_THAT(Found(flows, {goes_on}), ElementsAre("shadowed 1 0", "unreachable 5"));
}

TEST(Lint, SaysThatThereIsMore) {
  const std::vector<v1::FlowSpec> flows = Flows({"in_port=1,actions=1", "ip,actions=1", "dl_vlan=1,actions=1"});
  EXPECT_EQ(LintFlows(flows, {}, 0).findings.size(), 3u);
  EXPECT_TRUE(LintFlows(flows, {}, 3).complete);
  const LintResult result = LintFlows(flows, {}, 2);
  EXPECT_EQ(result.findings.size(), 2u);
  EXPECT_FALSE(result.complete);
}

// The world: TCP, its later fragments and UDP; ports below 64 and one more; no tag or VIDs 0 to 3.
struct Packet {
  int kind;  // 0 TCP, 1 its later fragment, 2 UDP
  unsigned port;
  int vid;  // -1: no tag
};

std::vector<Packet> AllPackets() {
  std::vector<Packet> packets;
  for (int kind = 0; kind < 3; ++kind) {
    for (unsigned port = 0; port <= 64; ++port) {
      for (int vid = -1; vid < 4; ++vid) packets.push_back({kind, port, vid});
    }
  }
  return packets;
}

// A flow of that world: as text, and as what it does to a packet.
struct WorldFlow {
  std::string text;
  unsigned priority;
  std::vector<bool> matches;  // by packet
};

class World {
 public:
  explicit World(uint32_t seed) : random_(seed) {
    for (size_t n = 2 + Die(30); flows.size() < n;) {
      WorldFlow flow = Next();
      if (said_.insert(flow.text).second) flows.push_back(std::move(flow));
    }
  }

  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const WorldFlow& flow : flows) texts.push_back(flow.text + ",actions=1");
    return texts;
  }

  std::vector<WorldFlow> flows;

 private:
  unsigned Die(unsigned sides) { return static_cast<unsigned>(random_() % sides); }

  WorldFlow Next() {
    WorldFlow flow{.text = "", .priority = 1 + Die(3), .matches = std::vector<bool>(packets_.size(), true)};
    flow.text = absl::StrCat("priority=", flow.priority);
    const auto keep = [&](auto&& condition) {
      for (size_t i = 0; i < packets_.size(); ++i) {
        if (!condition(packets_[i])) flow.matches[i] = false;
      }
    };
    Tag(flow, keep);
    const unsigned protocol = Die(3);
    if (protocol == 0) {
      absl::StrAppend(&flow.text, ",udp");
      keep([](const Packet& p) { return p.kind == 2; });
    } else if (protocol == 1) {
      absl::StrAppend(&flow.text, ",tcp");
      keep([](const Packet& p) { return p.kind != 2; });
      Port(flow, keep);
    }
    return flow;
  }

  template <typename Keep>
  void Tag(WorldFlow& flow, Keep& keep) {
    const unsigned what = Die(4);
    if (what == 0) {
      absl::StrAppend(&flow.text, ",vlan_tci=0");
      keep([](const Packet& p) { return p.vid < 0; });
    } else if (what == 1) {
      const int mask = static_cast<int>(Die(4)), value = static_cast<int>(Die(4)) & mask;
      absl::StrAppend(&flow.text, ",vlan_vid=", 0x1000 | value, "/", 0x1000 | 0xffc | mask);
      keep([&](const Packet& p) { return p.vid >= 0 && (p.vid & mask) == value; });
    }
  }

  template <typename Keep>
  void Port(WorldFlow& flow, Keep& keep) {
    const unsigned what = Die(4);
    if (what == 0) {
      const unsigned mask = Die(64), value = Die(64) & mask;
      absl::StrAppend(&flow.text, ",tp_dst=", value, "/", 0xffc0 | mask);
      keep([&](const Packet& p) { return p.kind == 0 && p.port < 64 && (p.port & mask) == value; });
    } else if (what == 1) {
      const unsigned first = Die(63), last = first + 1 + Die(63 - first);
      absl::StrAppend(&flow.text, ",tp_dst=", first, "-", last);
      keep([&](const Packet& p) { return p.kind == 0 && p.port >= first && p.port <= last; });
    } else if (what == 2) {
      absl::StrAppend(&flow.text, ",nw_frag=", Die(2) == 0 ? "later" : "not_later");
      const bool later = flow.text.ends_with(",nw_frag=later");
      keep([&](const Packet& p) { return (p.kind == 1) == later; });
    }
  }

  std::mt19937 random_;
  std::vector<Packet> packets_ = AllPackets();
  std::set<std::string> said_;
};

bool Covers(const WorldFlow& a, const WorldFlow& b) {
  for (size_t i = 0; i < a.matches.size(); ++i) {
    if (b.matches[i] && !a.matches[i]) return false;
  }
  return true;
}

bool Meet(const WorldFlow& a, const WorldFlow& b) {
  for (size_t i = 0; i < a.matches.size(); ++i) {
    if (a.matches[i] && b.matches[i]) return true;
  }
  return false;
}

bool Before(const std::vector<WorldFlow>& flows, size_t a, size_t b) {
  return flows[a].priority != flows[b].priority ? flows[a].priority > flows[b].priority : a < b;
}

std::vector<std::string> Expected(const std::vector<WorldFlow>& flows) {
  std::vector<std::string> expected;
  std::map<size_t, size_t> shadowed;
  for (size_t i = 0; i < flows.size(); ++i) {
    for (size_t j = 0; j < flows.size(); ++j) {
      if (j == i || !Before(flows, j, i) || !Covers(flows[j], flows[i])) continue;
      if (!shadowed.contains(i) || Before(flows, j, shadowed[i])) shadowed[i] = j;
    }
    if (shadowed.contains(i)) expected.push_back(absl::StrCat("shadowed ", i, " ", shadowed[i]));
  }
  for (size_t i = 0; i < flows.size(); ++i) {
    for (size_t j = i + 1; j < flows.size(); ++j) {
      if (flows[i].priority != flows[j].priority || shadowed.contains(i) || shadowed.contains(j)) continue;
      if (Meet(flows[i], flows[j])) expected.push_back(absl::StrCat("overlap ", i, " ", j));
    }
  }
  return expected;
}

TEST(Lint, AgreesWithAllPacketsOfASmallWorld) {
  size_t shadowed = 0, overlaps = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const World world(seed);
    const std::vector<std::string> expected = Expected(world.flows);
    ASSERT_EQ(Found(world.Texts()), expected) << "seed " << seed;
    for (const std::string& line : expected) ++(line.starts_with("shadowed") ? shadowed : overlaps);
  }
  EXPECT_GT(shadowed, 500u);
  EXPECT_GT(overlaps, 500u);
}

}  // namespace
}  // namespace sluice::client
