#include "dataplane/worker/flow_hits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sluice {
namespace {

// Never looked into: any distinct addresses do.
const ClassifierEntry* EntryAt(uintptr_t address) { return reinterpret_cast<const ClassifierEntry*>(address); }

TEST(FlowHitsTest, SumsLikeAMap) {
  std::mt19937 random(1);
  FlowHits hits;
  for (int round = 0; round < 2000; ++round) {
    std::map<const ClassifierEntry*, std::pair<uint64_t, uint64_t>> expected;
    // Addresses as an allocator gives them, alike in their low and high bits.
    const uintptr_t step = uintptr_t{64} << random() % 12;
    for (unsigned i = random() % (2 * kBatch + 1); i != 0 && !hits.Full(); --i) {
      const ClassifierEntry* entry = EntryAt(0x7f0000000000 + step * (random() % 80));
      const uint32_t packets = 1 + random() % 5;
      const uint64_t bytes = 60 + random() % 9000;
      hits.Add(entry, packets, bytes);
      expected[entry].first += packets;
      expected[entry].second += bytes;
    }
    std::map<const ClassifierEntry*, std::pair<uint64_t, uint64_t>> got;
    hits.Flush([&](const ClassifierEntry& entry, uint64_t packets, uint64_t bytes) {
      EXPECT_TRUE(got.emplace(&entry, std::pair{packets, bytes}).second) << "counted twice";
    });
    ASSERT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace sluice
