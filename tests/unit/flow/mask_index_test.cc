// The pruning index: the classes of one chunk, bit by bit; the ANDing of rows,
// with every kind of vector; and what a table's lookups see of it all.

#include "dataplane/classifier/mask_index.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "dataplane/classifier/row_and.h"
#include "dataplane/classifier/value_classes.h"
#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

// Classes and what should be in them.
class ValueClassesTest : public testing::Test {
 protected:
  void Set(uint32_t slot, uint16_t value) {
    const auto masked = static_cast<uint16_t>(value & masks_.at(slot));
    classes_.Set(slot, masked, masks_.at(slot), garbage_);
    values_[slot].insert(masked);
  }
  void Keep(uint32_t slot, const std::set<uint16_t>& values) {
    values_[slot] = values;
    classes_.Keep(slot, masks_.at(slot), std::vector<uint16_t>(values.begin(), values.end()));
  }
  // Each value has exactly the bits that it should have.
  void Check() {
    for (const auto& [slot, mask] : masks_) {
      for (uint32_t x = 0; x < ValueClasses::kValues; ++x) {
        const auto value = static_cast<uint16_t>(x);
        const auto* row = classes_.rows().row(classes_.ClassOf(value));
        const bool is_set = (row[slot / 64].load() >> (slot % 64) & 1) != 0;
        ASSERT_EQ(is_set, values_[slot].contains(static_cast<uint16_t>(value & mask))) << slot << ' ' << x;
      }
    }
  }

  Garbage garbage_;
  ValueClasses classes_{1};
  std::map<uint32_t, uint16_t> masks_;
  std::map<uint32_t, std::set<uint16_t>> values_;
};

TEST_F(ValueClassesTest, PairsAreWholeClasses) {
  masks_ = {{0, 0xffff}, {1, 0xff00}, {2, 0x0001}, {3, 0x8000}, {63, 0x0ff0}};
  for (const auto& [slot, mask] : masks_) {
    Set(slot, 0x1234);
    Check();
    Set(slot, 0xffff);
    Check();
  }
}

TEST_F(ValueClassesTest, AgreesWithBruteForce) {
  std::mt19937 random(1);
  for (uint32_t slot = 0; slot < 24; ++slot) masks_[slot] = static_cast<uint16_t>(random() | 1u << random() % 16);
  for (uint32_t slot = 24; slot < 40; ++slot) masks_[slot] = static_cast<uint16_t>(0xffff << (slot - 24));
  for (int round = 0; round < 4; ++round) {
    for (const auto& [slot, mask] : masks_) {
      for (int i = 0; i < 8; ++i) Set(slot, static_cast<uint16_t>(random() % 2 == 0 ? random() : random() % 64));
    }
    Check();
    for (const auto& [slot, mask] : masks_) {
      std::set<uint16_t> kept = values_[slot];
      std::erase_if(kept, [&](uint16_t) { return random() % 2 == 0; });
      Keep(slot, kept);
    }
    Check();
  }
}

TEST_F(ValueClassesTest, RowsGrowLongerAndMore) {
  masks_ = {{0, 0xffff}, {1, 0xfff0}};
  for (uint32_t i = 0; i < 1000; ++i) Set(i % 2, static_cast<uint16_t>(31 * i));
  classes_.SetStride(8, garbage_);
  masks_[500] = 0xfffe;
  for (uint32_t i = 0; i < 1000; ++i) Set(500, static_cast<uint16_t>(17 * i));
  EXPECT_EQ(classes_.rows().stride, 8u);
  Check();
}

TEST_F(ValueClassesTest, EveryValueMayHaveItsClass) {
  masks_ = {{0, 0xffff}, {7, 0x00ff}};
  for (uint32_t x = 0; x < ValueClasses::kValues; ++x) {
    if (x != 0x4321) Set(0, static_cast<uint16_t>(x));
  }
  Set(7, 0x0012);
  EXPECT_EQ(classes_.class_count(), ValueClasses::kValues);
  Check();
}

TEST_F(ValueClassesTest, TakesNoMoreMemoryThanItMay) {
  classes_.SetStride(128, garbage_);
  for (uint32_t x = 0; x < ValueClasses::kValues && !classes_.given_up(); ++x) {
    classes_.Set(0, static_cast<uint16_t>(x), 0xffff, garbage_);
  }
  EXPECT_TRUE(classes_.given_up());
  EXPECT_LE(classes_.rows().bytes(), ValueClasses::kMaxBlockBytes + sizeof(RowBlock));
}

TEST(RowAndTest, AllVectorsAgreeWithWords) {
  std::mt19937_64 random(2);
  constexpr unsigned kPackets = 5;
  for (const unsigned words : {1u, 2u, 8u, 24u, 64u, 72u, 128u}) {
    for (unsigned chunks = 0; chunks <= MaskIndex::kMaxChosen; ++chunks) {
      std::vector<std::atomic<uint64_t>> bits(size_t{kPackets} * MaskIndex::kMaxChosen * words);
      for (auto& word : bits) word = random() | random() | (random() % 2 == 0 ? ~uint64_t{0} : 0);
      std::vector<const std::atomic<uint64_t>*> rows;
      for (unsigned i = 0; i < kPackets * chunks; ++i) rows.push_back(&bits[size_t{i} * words]);
      std::vector<uint64_t> passing(size_t{chunks} * words);
      for (uint64_t& word : passing) word = random() & random();
      std::vector<uint64_t> live(words);
      for (uint64_t& word : live) word = random() % 2 == 0 ? 0 : random();
      const RowSet set{rows.data(), passing.data(), live.data(), chunks, words};
      std::vector<uint64_t> expected(kPackets * words);
      std::vector<uint64_t> expected_used(kPackets * UsedWords(words));
      AndRowsByWord(set, kPackets, expected.data(), expected_used.data());
      for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        std::vector<uint64_t> out(expected.size());
        std::vector<uint64_t> used(expected_used.size());
        AndRows(set, kPackets, out.data(), used.data());
        EXPECT_EQ(out, expected) << hwy::TargetName(target);
        EXPECT_EQ(used, expected_used) << hwy::TargetName(target);
      }
      hwy::SetSupportedTargetsForTest(0);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
  }
}

constexpr Condition Host(uint32_t host) { return {Field::kIpv4Dst, host}; }

// A flow of a mask of its own: a host under a mask of the source.
FlowSpec OwnMask(uint32_t i) {
  const uint64_t bits = 2 * i + 1;
  return Spec(static_cast<uint16_t>(60000 - i), MatchOf({Host(i), {Field::kEthSrc, bits, bits}}), i + 1);
}

class MaskIndexTest : public FlowTest {
 protected:
  TableInfo Info() { return table.Tables()[0]; }
  // Masks tried for one packet.
  uint64_t Visited(const PacketKey& key) {
    const uint64_t before = Info().masks_visited;
    Find(key);
    return Info().masks_visited - before;
  }
  // Those from `begin` to `end` are found, and others not.
  void Check(uint32_t begin, uint32_t end, uint32_t all) {
    for (uint32_t i = 0; i < all; ++i) {
      const bool is_there = i >= begin && i < end;
      ASSERT_EQ(PortOf(Find(OwnMask(i).match.value)), is_there ? i + 1 : 0) << i;
    }
  }
};

TEST_F(MaskIndexTest, ComesAndGoesWithTheNumberOfMasks) {
  const uint32_t from = ClassifierOptions().pruned_from;
  for (uint32_t i = 0; i + 1 < from; ++i) Add(OwnMask(i));
  EXPECT_EQ(Info().indexed_masks, 0u);
  Add(OwnMask(from));
  EXPECT_EQ(Info().indexed_masks, from);
  EXPECT_GT(Info().index_bytes, 0u);
  const uint64_t lookups = Info().pruned_lookups;
  EXPECT_EQ(Visited(OwnMask(from).match.value), 1u);
  EXPECT_EQ(Info().pruned_lookups, lookups + 1);
  for (uint32_t i = 0; i < from / 2 + 1; ++i) WriteOne(DeleteFlow{IdentityOf(OwnMask(i))});
  EXPECT_EQ(Info().indexed_masks, 0u);
  EXPECT_EQ(PortOf(Find(OwnMask(from).match.value)), from + 1);
}

TEST_F(MaskIndexTest, SlotsGrowAndAreUsedAgain) {
  constexpr uint32_t kMasks = 700;
  for (uint32_t i = 0; i < kMasks; ++i) Add(OwnMask(i));
  Check(0, kMasks, kMasks);
  EXPECT_EQ(Visited(OwnMask(kMasks - 1).match.value), 1u);
  for (uint32_t i = 0; i < kMasks / 2; ++i) WriteOne(DeleteFlow{IdentityOf(OwnMask(i))});
  Check(kMasks / 2, kMasks, kMasks);
  reclaimer.Flush();
  const uint64_t bytes = Info().index_bytes;
  for (uint32_t i = 0; i < kMasks / 2; ++i) Add(OwnMask(i));
  Check(0, kMasks, kMasks);
  EXPECT_LE(Info().index_bytes, bytes + bytes / 4);
}

TEST_F(MaskIndexTest, TheOrderOfMasksIsKeptWhateverTheirSlots) {
  constexpr uint32_t kMasks = 100;
  // All match one packet; each mask beats those before it.
  const auto spec = [](uint32_t i) {
    return Spec(static_cast<uint16_t>(i), MatchOf({{Field::kEthSrc, 0, uint64_t{i} + 1}}), i + 1);
  };
  for (uint32_t i = 0; i < kMasks; ++i) Add(spec(i));
  EXPECT_EQ(PortOf(Find(PacketKey{})), kMasks);
  EXPECT_EQ(Visited(PacketKey{}), 1u);
  for (uint32_t i = kMasks; i-- > 1;) {
    WriteOne(DeleteFlow{IdentityOf(spec(i))});
    EXPECT_EQ(PortOf(Find(PacketKey{})), i);
  }
}

TEST_F(MaskIndexTest, ResortingPutsSlotsInOrder) {
  for (uint32_t i = 100; i-- > 0;) Add(OwnMask(i));
  for (int k = 0; k < 40; ++k) Check(0, 100, 100);
  table.Resort();
  Check(0, 100, 100);
  EXPECT_EQ(Info().indexed_masks, 100u);
}

TEST_F(MaskIndexTest, ForgetsWhatIsRemoved) {
  for (uint32_t i = 0; i < 40; ++i) Add(OwnMask(i));
  const auto spec = [](uint32_t host) { return Spec(1, MatchOf({Host(0x0a000000 + 7 * host)}), 9); };
  for (uint32_t host = 0; host < 1000; ++host) Add(spec(host));
  EXPECT_EQ(Visited(spec(3).match.value), 1u);
  std::vector<FlowChange> changes;
  for (uint32_t host = 0; host < 999; ++host) changes.push_back(DeleteFlow{IdentityOf(spec(host))});
  Write(changes);
  reclaimer.Flush();
  uint64_t visited = 0;
  for (uint32_t host = 0; host < 999; ++host) visited += Visited(spec(host).match.value);
  EXPECT_LT(visited, 300u);
  EXPECT_EQ(PortOf(Find(spec(999).match.value)), 9u);
}

// What a version in hand has must be found until the worker lets go of it.
TEST_F(MaskIndexTest, AVersionInHandKeepsItsCandidates) {
  for (uint32_t i = 0; i < 40; ++i) Add(OwnMask(i));
  const auto spec = [](uint32_t host) { return Spec(1, MatchOf({Host(0x0a000000 + 7 * host)}), 9); };
  std::vector<FlowChange> creates;
  std::vector<FlowChange> deletes;
  for (uint32_t host = 0; host < 500; ++host) {
    creates.push_back(Create(spec(host)));
    if (host % 10 != 0) deletes.push_back(DeleteFlow{IdentityOf(spec(host))});
  }
  Write(creates);
  reclaimer.Flush();
  reclaimer.Online(0);
  const uint64_t version = table.classifier().version();
  const auto done = WriteLater(deletes);
  for (uint32_t host = 0; host < 500; ++host) {
    const PacketKey key = spec(host).match.value;
    ASSERT_EQ(PortOf(Find(key, version)), 9u) << host;
    ASSERT_EQ(PortOf(Find(key)), host % 10 == 0 ? 9u : 0u) << host;
  }
  reclaimer.Offline(0);
  done.wait();
}

TEST_F(MaskIndexTest, IsSwitchedOffAndOn) {
  for (uint32_t i = 0; i < 40; ++i) Add(OwnMask(i));
  EXPECT_EQ(Visited(OwnMask(39).match.value), 1u);
  table.SetOptions({.pruning = false});
  EXPECT_EQ(Info().indexed_masks, 0u);
  EXPECT_EQ(Visited(OwnMask(39).match.value), 40u);
  table.SetOptions({});
  EXPECT_EQ(Visited(OwnMask(39).match.value), 1u);
}

}  // namespace
}  // namespace sluice
