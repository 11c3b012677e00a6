// Random tables under random changes, against the linear classifier: two tables
// side by side, whose flows share what the flow table has but one of.
//
// Keys are made of a few places with four values each, so that flows overlap,
// share masked keys and tie in priority all the time. The classifier's options
// take turns and change on the way; nothing but which of equals may win depends
// on them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
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

// Bytes of a key that may differ: of each word that fields lie in, and of all lines. Each
// world takes some.
constexpr std::array<size_t, 25> kAllPlaces = {0,  5,  13, 14, 21, 24, 27,  31,  32,  33,  36,  39, 41,
                                               43, 44, 49, 64, 95, 99, 111, 117, 120, 131, 140, 167};
constexpr size_t kPlaces = 14;

struct Tally {
  uint64_t tables = 0;
  uint64_t lookups = 0;
  uint64_t specific = 0;   // hit a flow that is no catch-all
  uint64_t contended = 0;  // matched two flows or more
  uint64_t missed = 0;
  uint64_t remembered = 0;  // answered by the flow cache
  uint64_t changes = 0;
  size_t smallest = 1'000'000;
  size_t biggest = 0;
};

// All ways to search a table's masks. With pruned_from at 1 there always is an index.
const std::array<ClassifierOptions, 6> kOptions = {{
    {},
    {.pruned_from = 1},
    {.pruning = false},
    {.pruning = false, .mask_cache_entries = 64},
    {.pruning = false, .equal_priority = EqualPriority::kAny, .mask_cache_entries = 100},
    {.equal_priority = EqualPriority::kAny, .pruned_from = 1},
}};

// One of the tables, its twin and what a worker remembers of it.
struct Side {
  uint8_t table_id;
  FlowCache cache;
  LinearClassifier twin{};
};

// The tables and the dice.
class World {
 public:
  // flow_count: of each table, more or less. One bucket of the caches in every third world: all fingerprints lead to
  // the same place.
  World(uint32_t seed, size_t flow_count, const HashKey& hash_key)
      : random_(seed),
        table_(2, {}, reclaimer_, hash_key, kOptions[seed % kOptions.size()]),
        sides_{Side{0, FlowCache(seed % 3 == 0 ? 4 : 256)}, Side{7, FlowCache(seed % 3 == 0 ? 4 : 256)}} {
    ChoosePlaces();
    ChooseMasks();
    reclaimer_.Online(kWorker);
    std::vector<FlowChange> changes;
    while (FlowCount() < 2 * flow_count) {
      ChooseSide();
      changes.push_back(NewFlow());
      if (changes.size() == 500 || FlowCount() == 2 * flow_count) Write(std::exchange(changes, {}));
    }
  }
  ~World() { reclaimer_.Offline(kWorker); }

  void Change() {
    std::vector<FlowChange> changes;
    const size_t wanted = Die(4) == 0 ? 1 + Die(20) : 1;
    for (size_t i = 0; i < wanted; ++i) {
      ChooseSide();
      changes.push_back(NextChange());
    }
    Write(std::move(changes));
    if (Die(20) == 0) table_.Resort();
    if (Die(50) == 0) table_.SetOptions(kOptions[Die(kOptions.size())]);
    if (Die(20) == 0) table_.Housekeep();
  }

  void LookUp(unsigned n, Tally& tally) {
    ChooseSide();
    std::array<PacketKey, kBatch> keys;
    for (unsigned i = 0; i < n; ++i) keys[i] = KnownOrNextKey();
    std::array<const ClassifierEntry*, kBatch> entries;
    Classifier& classifier = table_.classifier();
    if (Die(4) == 0) {
      classifier.Lookup(kWorker, side_->table_id, classifier.version(), keys.data(), n, entries.data());
    } else {
      const FlowCache::Counts counts =
          side_->cache.Lookup(classifier, kWorker, side_->table_id, classifier.View(), keys.data(), n, entries.data());
      tally.remembered += counts.hits;
    }
    for (unsigned i = 0; i < n; ++i) {
      const LinearFlow* expected = side_->twin.Lookup(keys[i]);
      ASSERT_EQ(entries[i] != nullptr, expected != nullptr);
      ++tally.lookups;
      if (expected == nullptr) {
        ++tally.missed;
        continue;
      }
      CheckWinner(*entries[i], *expected, keys[i]);
      if (testing::Test::HasFatalFailure()) return;
      tally.specific += expected->match.mask != PacketKey{};
      tally.contended += side_->twin.Contended(keys[i]);
    }
    // Not always: what is removed must stay findable for as long as it takes.
    if (Die(3) != 0) reclaimer_.Quiescent(kWorker);
  }

  void CheckList() {
    std::vector<FlowInfo> flows = table_.List({}, 0, FlowCount() + 1);
    ASSERT_EQ(flows.size(), FlowCount());
    for (const FlowInfo& info : flows) {
      const Side& side = sides_[info.spec.table_id == sides_[0].table_id ? 0 : 1];
      const LinearFlow* flow = side.twin.Find(info.spec.priority, info.spec.match);
      ASSERT_NE(flow, nullptr);
      ASSERT_EQ(flow->id, info.id);
    }
  }

 private:
  void ChooseSide() { side_ = &sides_[Die(2)]; }
  size_t FlowCount() const { return sides_[0].twin.flows().size() + sides_[1].twin.flows().size(); }
  uint32_t Die(uint32_t sides) { return static_cast<uint32_t>(random_() % sides); }

  // With `any`, a flow of the same priority that matches may stand for the oldest.
  void CheckWinner(const ClassifierEntry& entry, const LinearFlow& oldest, const PacketKey& key) {
    const LinearFlow* expected = &oldest;
    if (table_.options().equal_priority == EqualPriority::kAny && entry.flow()->id != oldest.id) {
      const auto found = std::ranges::find(side_->twin.flows(), entry.flow()->id, &LinearFlow::id);
      ASSERT_NE(found, side_->twin.flows().end());
      ASSERT_EQ(found->priority, oldest.priority);
      ASSERT_TRUE(Matches(found->match, key));
      expected = &*found;
    }
    ASSERT_EQ(entry.flow()->id, expected->id);
    ASSERT_EQ(PortOf(&entry), expected->output);
  }

  uint8_t& ByteOf(PacketKey& key, size_t place) const { return reinterpret_cast<uint8_t*>(&key)[places_[place]]; }

  void ChoosePlaces() {
    std::array<size_t, kAllPlaces.size()> places = kAllPlaces;
    for (size_t i = 0; i < kPlaces; ++i) {
      std::swap(places[i], places[i + Die(static_cast<uint32_t>(places.size() - i))]);
      places_[i] = places[i];
    }
  }

  void ChooseMasks() {
    masks_.resize(2 + Die(60));
    for (PacketKey& mask : masks_) {
      mask = {};
      const uint32_t density = 1 + Die(6);
      for (size_t place = 0; place < kPlaces; ++place) {
        if (Die(8) < density) ByteOf(mask, place) = static_cast<uint8_t>(Die(3) == 0 ? 1 + Die(3) : 0xff);
      }
      // A catch-all hides what is below it, so it is for the line below to say how often there is one.
      if (mask == PacketKey{}) ByteOf(mask, Die(kPlaces)) = 3;
    }
    if (Die(8) == 0) masks_.front() = {};
    priorities_ = Die(2) == 0 ? 1 + Die(4) : 1 + Die(200);
  }

  PacketKey RandomKey() {
    PacketKey key{};
    for (size_t place = 0; place < kPlaces; ++place) ByteOf(key, place) = static_cast<uint8_t>(Die(4));
    return key;
  }

  Match RandomMatch() {
    Match match{.value = RandomKey(), .mask = masks_[Die(static_cast<uint32_t>(masks_.size()))]};
    for (size_t i = 0; i < kKeyWords; ++i) SetWord(match.value, i, WordOf(match.value, i) & WordOf(match.mask, i));
    return match;
  }

  // Mostly a packet that some flow matches.
  PacketKey NextKey() {
    PacketKey key = RandomKey();
    if (side_->twin.flows().empty() || Die(8) == 0) return key;
    const Match& match = AnyFlow().match;
    for (size_t i = 0; i < kKeyWords; ++i) {
      SetWord(key, i, (WordOf(key, i) & ~WordOf(match.mask, i)) | WordOf(match.value, i));
    }
    return key;
  }

  // What was asked before may be remembered.
  PacketKey KnownOrNextKey() {
    PacketKey& known = known_[Die(static_cast<uint32_t>(known_.size()))];
    if (Die(3) == 0) known = NextKey();
    return known;
  }

  const LinearFlow& AnyFlow() { return side_->twin.flows()[Die(static_cast<uint32_t>(side_->twin.flows().size()))]; }

  // Ids are given in the order of creation, one each.
  CreateFlow NewFlow() {
    const Match match = RandomMatch();
    const auto priority = static_cast<uint16_t>(Die(priorities_) * 300);
    CreateFlow create = Create(Spec(priority, match, ++output_));
    create.allow_existing = true;
    create.spec.table_id = side_->table_id;
    const LinearFlow* existing = side_->twin.Find(priority, match);
    if (existing != nullptr) {
      side_->twin.Modify(existing->id, output_);
      // So that masks of few bits do not fill up.
      PacketKey& mask = masks_[Die(static_cast<uint32_t>(masks_.size()))];
      if (Die(4) == 0 && mask != PacketKey{}) ByteOf(mask, Die(kPlaces)) |= 3;
      if (Die(4) == 0 && priorities_ < 200) ++priorities_;
    } else {
      side_->twin.Add({.id = ++last_id_, .priority = priority, .match = match, .output = output_});
    }
    return create;
  }

  FlowChange NextChange() {
    const uint32_t what = Die(5);
    if (what < 2 || side_->twin.flows().empty()) return NewFlow();
    const LinearFlow flow = AnyFlow();
    if (what == 2) {
      side_->twin.Modify(flow.id, ++output_);
      return UpdateFlow{.key = flow.id, .actions = Output(output_)};
    }
    side_->twin.Remove(flow.id);
    if (Die(2) == 0) return DeleteFlow{flow.id};
    return DeleteFlow{FlowIdentity{side_->table_id, flow.priority, flow.match}};
  }

  void Write(const std::vector<FlowChange>& changes) {
    const BatchMode mode = Die(2) == 0 ? BatchMode::kPerItem : BatchMode::kAllOrNothing;
    table_.Write(changes, mode, false, [](const std::vector<FlowChangeResult>& results) {
      for (const FlowChangeResult& result : results) ASSERT_TRUE(result.status.ok()) << result.status;
    });
  }

  std::mt19937 random_;
  Reclaimer reclaimer_{2};
  FlowTable table_;
  std::array<Side, 2> sides_;
  Side* side_ = &sides_[0];
  std::array<size_t, kPlaces> places_{};
  std::array<PacketKey, 64> known_{};
  std::vector<PacketKey> masks_;
  uint32_t priorities_ = 1;
  uint32_t output_ = 0;
  uint64_t last_id_ = 0;
};

void Compare(uint64_t lookups, uint64_t tables, size_t max_flows, const HashKey& hash_key, Tally& tally) {
  std::mt19937 random(static_cast<uint32_t>(max_flows));
  for (; tally.tables < tables; ++tally.tables) {
    // Sizes over the whole range, as many from 1 to 10 as from 500 to 5,000.
    const double power = static_cast<double>(tally.tables) / static_cast<double>(tables - 1);
    const auto flow_count = static_cast<size_t>(std::lround(std::pow(static_cast<double>(max_flows), power)));
    SCOPED_TRACE(absl::StrCat("table ", tally.tables, " of ", flow_count, " flows"));
    World world(static_cast<uint32_t>(tally.tables), flow_count, hash_key);
    const uint64_t end = lookups * (tally.tables + 1) / tables;
    while (tally.lookups < end) {
      world.LookUp(1 + random() % kBatch, tally);
      world.Change();
      ++tally.changes;
      if (testing::Test::HasFatalFailure()) return;
    }
    world.CheckList();
    tally.smallest = std::min(tally.smallest, flow_count);
    tally.biggest = std::max(tally.biggest, flow_count);
  }
}

TEST(ClassifierRandomTest, AgreesWithTheLinearClassifier) {
  Tally tally;
  Compare(1'000'000 / kShare, 240 / kShare, 5000, HashKey::Random(), tally);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(tally.smallest, 1u);
  EXPECT_EQ(tally.biggest, 5000u);
  EXPECT_GE(tally.lookups, 1'000'000 / kShare);
  EXPECT_GE(tally.specific * 2, tally.lookups);
  EXPECT_GE(tally.contended * 3, tally.lookups);
  EXPECT_GT(tally.missed, 0u);
  EXPECT_GE(tally.remembered * 10, tally.lookups);
  printf("tables %lu lookups %lu changes %lu: specific %.3f contended %.3f missed %.3f remembered %.3f\n", tally.tables,
         tally.lookups, tally.changes, 1.0 * tally.specific / tally.lookups, 1.0 * tally.contended / tally.lookups,
         1.0 * tally.missed / tally.lookups, 1.0 * tally.remembered / tally.lookups);
}

// The tags, the overflow counts and the walk over buckets are right even if all
// masked keys of a mask have one hash.
TEST(ClassifierRandomTest, AgreesWhereEverythingCollides) {
  Tally tally;
  Compare(100'000 / kShare, 40 / std::min<uint64_t>(kShare, 4), 400, HashKey{}, tally);
  EXPECT_GE(tally.lookups, 100'000 / kShare);
}

}  // namespace
}  // namespace sluice
