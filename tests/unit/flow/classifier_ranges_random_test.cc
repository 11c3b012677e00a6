// Random tables whose flows have ranges of ports, against the linear classifier:
// at the latest version, and at all that a worker may still be in.
//
// Flows share few masked keys, so that chains are long; some tables have one
// chain alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "dataplane/classifier/flow_cache.h"
#include "tests/support/linear_classifier.h"
#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

#ifdef SLUICE_SANITIZED
constexpr uint64_t kShare = 20;
#else
constexpr uint64_t kShare = 1;
#endif

constexpr unsigned kWorker = 1;

struct Shape {
  uint32_t keys = 1;          // other values than ports; each has a chain, or several
  uint32_t port_end = 65536;  // ports below
  bool ranges_only = false;   // of both ports
  uint32_t priorities = 1;
};

struct Tally {
  uint64_t lookups = 0;
  uint64_t in_range = 0;   // hit a flow with a range
  uint64_t contended = 0;  // matched two flows or more
  uint64_t missed = 0;
  uint64_t old = 0;  // at a version before the latest
};

class World {
 public:
  World(uint32_t seed, const Shape& shape, size_t flow_count, const HashKey& hash_key)
      : random_(seed), shape_(shape), table_(2, {}, reclaimer_, hash_key) {
    reclaimer_.Online(kWorker);
    std::vector<FlowChange> changes;
    for (size_t tries = 0; twin_.flows().size() < flow_count && tries < 2 * flow_count; ++tries) {
      changes.push_back(NewFlow());
      if (Die(500) == 0) Write(std::exchange(changes, {}));
    }
    Write(changes);
  }
  ~World() { reclaimer_.Offline(kWorker); }

  void Change() {
    std::vector<FlowChange> changes;
    const size_t wanted = Die(4) == 0 ? 1 + Die(20) : 1;
    for (size_t i = 0; i < wanted; ++i) changes.push_back(NextChange());
    // A batch that fails leaves the chains as they were.
    if (Die(8) == 0) return Undo(std::move(changes));
    Write(changes);
  }

  void LookUp(unsigned n, Tally& tally) {
    std::array<PacketKey, kBatch> keys;
    for (unsigned i = 0; i < n; ++i) keys[i] = NextKey();
    const Past& then = past_[Die(3) == 0 ? Die(static_cast<uint32_t>(past_.size())) : past_.size() - 1];
    std::array<const ClassifierEntry*, kBatch> entries;
    Classifier& classifier = table_.classifier();
    if (&then == &past_.back() && Die(2) == 0) {
      cache_.Lookup(classifier, kWorker, 0, classifier.View(), keys.data(), n, entries.data());
    } else {
      classifier.Lookup(kWorker, 0, then.version, keys.data(), n, entries.data());
    }
    for (unsigned i = 0; i < n; ++i) {
      const LinearFlow* expected = then.twin.Lookup(keys[i]);
      ASSERT_EQ(entries[i] != nullptr, expected != nullptr);
      ++tally.lookups;
      tally.old += then.version != past_.back().version;
      tally.missed += expected == nullptr;
      if (expected == nullptr) continue;
      ASSERT_EQ(entries[i]->flow()->id, expected->id);
      ASSERT_EQ(PortOf(entries[i]), expected->output);
      tally.in_range += HasRanges(expected->match.mask);
      tally.contended += then.twin.Contended(keys[i]);
    }
    if (Die(4) != 0) return;
    reclaimer_.Quiescent(kWorker);
    past_.erase(past_.begin(), past_.end() - 1);
  }

  void CheckList() {
    for (const FlowInfo& info : table_.List({}, 0, twin_.flows().size() + 1)) {
      const LinearFlow* flow = twin_.Find(info.spec.priority, info.spec.match);
      ASSERT_NE(flow, nullptr);
      ASSERT_EQ(flow->id, info.id);
      ASSERT_EQ(table_.Get(FlowKey(FlowIdentity{0, flow->priority, flow->match}))->id, info.id);
    }
    ASSERT_EQ(table_.size(), twin_.flows().size());
  }

  // All at once, and all gone.
  void DeleteAll() {
    table_.DeleteMatching({}, [](FlowTable::DeletedSum) {});
    reclaimer_.Offline(kWorker);
    reclaimer_.Flush();
    reclaimer_.Online(kWorker);
    ASSERT_TRUE(table_.Masks(0).empty());
  }

 private:
  struct Past {
    uint64_t version;
    LinearClassifier twin;
  };

  uint32_t Die(uint32_t sides) { return static_cast<uint32_t>(random_() % sides); }
  uint16_t Port() { return static_cast<uint16_t>(Die(shape_.port_end)); }

  void AddPort(Field field, Match& match) {
    const uint32_t what = shape_.ranges_only ? 4 : Die(8);
    const uint16_t a = Port();
    const uint16_t b = Die(2) == 0 ? Port() : static_cast<uint16_t>(std::min(shape_.port_end - 1, a + Die(40)));
    if (what == 0) MatchOn(match, field, a, 0xffff);
    if (what == 1) MatchOn(match, field, a, 0xfff8);
    if (what >= 3) MatchOnRange(match, field, {std::min(a, b), std::max(a, b)});
  }

  Match RandomMatch() {
    Match match;
    MatchOn(match, Field::kIpv4Dst, Die(shape_.keys), 0xffffffff);
    AddPort(Field::kTcpSrc, match);
    AddPort(Field::kTcpDst, match);
    return match;
  }

  // Mostly a packet that a flow matches, or nearly.
  PacketKey NextKey() {
    PacketKey key = KeyOf({{Field::kIpv4Dst, Die(shape_.keys)}, {Field::kTcpSrc, Port()}, {Field::kTcpDst, Port()}});
    if (Die(16) == 0) key.present &= static_cast<uint16_t>(~kPresentL4);
    if (twin_.flows().empty() || Die(8) == 0) return key;
    const Match& match = AnyFlow().match;
    for (size_t i = 0; i < kKeyWords; ++i) {
      SetWord(key, i, (WordOf(key, i) & ~WordOf(match.mask, i)) | WordOf(match.value, i));
    }
    const auto near = [this](uint16_t port) { return static_cast<uint16_t>(port + Die(3) - 1); };
    const auto& [source, destination] = match.ports;
    if (source != PortRange{}) PutField(key, Field::kTcpSrc, near(Die(2) == 0 ? source.first : source.last));
    if (destination != PortRange{})
      PutField(key, Field::kTcpDst, near(Die(2) == 0 ? destination.first : destination.last));
    return key;
  }

  const LinearFlow& AnyFlow() { return twin_.flows()[Die(static_cast<uint32_t>(twin_.flows().size()))]; }

  CreateFlow NewFlow() {
    const Match match = RandomMatch();
    const auto priority = static_cast<uint16_t>(Die(shape_.priorities) * 300);
    CreateFlow create = Create(Spec(priority, match, ++output_));
    create.allow_existing = true;
    if (const LinearFlow* existing = twin_.Find(priority, match)) {
      twin_.Modify(existing->id, output_);
    } else {
      twin_.Add({.id = ++last_id_, .priority = priority, .match = match, .output = output_});
    }
    return create;
  }

  FlowChange NextChange() {
    const uint32_t what = Die(5);
    if (what < 2 || twin_.flows().empty()) return NewFlow();
    const LinearFlow flow = AnyFlow();
    if (what == 2) {
      twin_.Modify(flow.id, ++output_);
      return UpdateFlow{.key = flow.id, .actions = Output(output_)};
    }
    twin_.Remove(flow.id);
    if (Die(2) == 0) return DeleteFlow{flow.id};
    return DeleteFlow{FlowIdentity{0, flow.priority, flow.match}};
  }

  void Write(const std::vector<FlowChange>& changes) {
    table_.Write(changes, BatchMode::kAllOrNothing, false, [](const std::vector<FlowChangeResult>& results) {
      for (const FlowChangeResult& result : results) ASSERT_TRUE(result.status.ok()) << result.status;
    });
    past_.push_back({table_.classifier().version(), twin_});
  }

  void Undo(std::vector<FlowChange> changes) {
    changes.push_back(absl::CancelledError());
    table_.Write(changes, BatchMode::kAllOrNothing, false, [](auto) {});
    twin_ = past_.back().twin;
    last_id_ = 0;  // ids were skipped
    CreateFlow probe = Create(Spec(65535, MatchOf({{Field::kInPort, 1}}), 1));
    table_.Write(std::vector<FlowChange>{probe}, BatchMode::kPerItem, false,
                 [this](const std::vector<FlowChangeResult>& results) { last_id_ = results[0].flow.id; });
    table_.Write(std::vector<FlowChange>{DeleteFlow{last_id_}}, BatchMode::kPerItem, false, [](auto) {});
    past_.push_back({table_.classifier().version(), twin_});
  }

  std::mt19937 random_;
  const Shape shape_;
  Reclaimer reclaimer_{2};
  FlowTable table_;
  FlowCache cache_{64};
  LinearClassifier twin_;
  std::vector<Past> past_;  // versions that the worker may be in; the last is the latest
  uint32_t output_ = 0;
  uint64_t last_id_ = 0;
};

void Play(uint32_t seed, const Shape& shape, size_t flow_count, uint64_t lookups, const HashKey& hash_key,
          Tally& tally) {
  SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", flow_count, " flows"));
  World world(seed, shape, flow_count, hash_key);
  std::mt19937 random(seed);
  for (const uint64_t end = tally.lookups + lookups; tally.lookups < end;) {
    world.LookUp(1 + random() % kBatch, tally);
    world.Change();
    if (testing::Test::HasFatalFailure()) return;
  }
  world.CheckList();
  world.DeleteAll();
}

void PlayMany(uint32_t tables, double max_flows, uint64_t lookups, const HashKey& hash_key, Tally& tally) {
  for (uint32_t i = 0; i < tables && !testing::Test::HasFatalFailure(); ++i) {
    const Shape shape{.keys = i % 3 == 0 ? 1 : 1 + i % 5,
                      .port_end = i % 4 == 0 ? 64u : 65536u,
                      .ranges_only = i % 5 == 0,
                      .priorities = i % 2 == 0 ? 1 : 1 + i * 7 % 200};
    const auto flow_count = static_cast<size_t>(std::lround(std::pow(max_flows, 1.0 * i / (tables - 1))));
    Play(i, shape, flow_count, lookups / tables, hash_key, tally);
  }
}

TEST(ClassifierRangesRandomTest, AgreesWithTheLinearClassifier) {
  Tally tally;
  PlayMany(kShare == 1 ? 120 : 24, 2000, 200'000 / kShare, HashKey::Random(), tally);
  EXPECT_GE(tally.in_range * 4, tally.lookups);
  EXPECT_GE(tally.contended * 4, tally.lookups);
  EXPECT_GE(tally.old * 10, tally.lookups);
  EXPECT_GT(tally.missed, 0u);
  printf("lookups %lu: in a range %.3f contended %.3f missed %.3f old %.3f\n", tally.lookups,
         1.0 * tally.in_range / tally.lookups, 1.0 * tally.contended / tally.lookups,
         1.0 * tally.missed / tally.lookups, 1.0 * tally.old / tally.lookups);
}

TEST(ClassifierRangesRandomTest, AgreesWhereEverythingCollides) {
  Tally tally;
  PlayMany(20, 400, 40'000 / kShare, HashKey{}, tally);
}

TEST(ClassifierRangesRandomTest, AgreesInOneChainOfThousands) {
  Tally tally;
  for (const uint32_t priorities : {1u, 65536u / 300}) {
    Play(priorities, {.ranges_only = true, .priorities = priorities}, 8000 / std::min<uint64_t>(kShare, 4),
         20'000 / kShare, HashKey::Random(), tally);
  }
  EXPECT_GE(tally.in_range * 2, tally.lookups);
}

// The same flows, once as they are, once as many flows with masks.
class ExpansionTest : public testing::Test {
 protected:
  static std::vector<PortRange> PrefixesOf(PortRange range) {
    std::vector<PortRange> prefixes;
    for (uint32_t first = range.first; first <= range.last;) {
      uint32_t size = first == 0 ? 0x10000 : first & -first;
      while (first + size - 1 > range.last) size /= 2;
      prefixes.push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(first + size - 1)});
      first += size;
    }
    return prefixes;
  }

  PortRange RandomRange() {
    auto a = static_cast<uint16_t>(random_()), b = static_cast<uint16_t>(random_());
    if (random_() % 4 != 0) b = static_cast<uint16_t>(std::min(0xffffu, a + static_cast<uint32_t>(random_() % 9000)));
    return {std::min(a, b), std::max(a, b)};
  }

  static Match MatchOfPorts(PortRange source, PortRange destination) {
    Match match = MatchOf({{Field::kIpProto, 6}});
    MatchOnRange(match, Field::kTcpSrc, source);
    MatchOnRange(match, Field::kTcpDst, destination);
    return match;
  }

  void AddFlow(uint16_t priority, uint32_t output) {
    const PortRange source = random_() % 6 == 0 ? PortRange{} : RandomRange(), destination = RandomRange();
    ranged_.push_back(Create(Spec(priority, MatchOfPorts(source, destination), output)));
    for (const PortRange& s : PrefixesOf(source)) {
      for (const PortRange& d : PrefixesOf(destination)) {
        expanded_.push_back(Create(Spec(priority, MatchOfPorts(s, d), output)));
      }
    }
  }

  // A flow that is there already is older and wins.
  static void Write(FlowTable& table, const std::vector<FlowChange>& changes) {
    table.Write(changes, BatchMode::kPerItem, false, [](const std::vector<FlowChangeResult>& results) {
      for (const FlowChangeResult& result : results) {
        ASSERT_TRUE(result.status.ok() || absl::IsAlreadyExists(result.status)) << result.status;
      }
    });
  }

  std::mt19937 random_{4};
  std::vector<FlowChange> ranged_;
  std::vector<FlowChange> expanded_;
};

TEST_F(ExpansionTest, RangesForwardAsTheirPrefixesDo) {
  for (uint32_t i = 0; i < 60; ++i) AddFlow(static_cast<uint16_t>(random_() % 20), i + 1);
  Reclaimer reclaimer{1};
  FlowTable ranged(1, {}, reclaimer), expanded(1, {}, reclaimer);
  Write(ranged, ranged_);
  Write(expanded, expanded_);
  EXPECT_LT(10 * ranged.size(), expanded.size());
  EXPECT_LE(ranged.Masks(0).size(), 8u);
  const auto outputs = [](FlowTable& table, const std::array<PacketKey, kBatch>& keys) {
    std::array<const ClassifierEntry*, kBatch> entries;
    table.classifier().Lookup(0, 0, table.classifier().version(), keys.data(), kBatch, entries.data());
    std::array<uint32_t, kBatch> ports;
    std::ranges::transform(entries, ports.begin(), PortOf);
    return ports;
  };
  std::set<uint32_t> seen;
  const uint32_t others = kShare == 1 ? 12 : 2;
  for (uint32_t i = 0; i < 2 * others * 65536; i += kBatch) {
    const bool of_source = i / 65536 % 2 == 0;
    const uint32_t other = (i / 65536 / 2 + 1) * 0x9e37 & 0xffff;
    std::array<PacketKey, kBatch> keys;
    for (uint32_t k = 0; k < kBatch; ++k) {
      const uint32_t port = (i + k) & 0xffff;
      keys[k] = KeyOf({{Field::kIpProto, 6},
                       {Field::kTcpSrc, of_source ? port : other},
                       {Field::kTcpDst, of_source ? other : port}});
    }
    const auto of_ranged = outputs(ranged, keys);
    ASSERT_EQ(of_ranged, outputs(expanded, keys)) << i;
    seen.insert(of_ranged.begin(), of_ranged.end());
  }
  EXPECT_GT(seen.size(), kShare == 1 ? 10u : 5u);
}

}  // namespace
}  // namespace sluice
