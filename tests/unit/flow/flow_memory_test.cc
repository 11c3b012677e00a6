#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <vector>

#include "dataplane/classifier/subtable.h"
#include "dataplane/flow/flow.h"
#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

constexpr uint32_t kFlows = 100'000;
constexpr size_t kBytesPerFlow = 400;

// At worst: the mask uses all words in which the fields of one flow can lie, as
// the server's tests count them, and the buckets have just doubled.
constexpr size_t kMostWords = 18;
constexpr size_t kEntry = 192;
constexpr size_t kBucketShare = 2 * sizeof(Bucket) * 4 / (3 * Bucket::kSlots);
constexpr size_t kIndexes = 2 * (sizeof(uint64_t) + sizeof(Flow*)) + 2 * sizeof(uint64_t);
static_assert(sizeof(ClassifierEntry) + kMostWords * sizeof(uint64_t) <= kEntry);
static_assert(sizeof(Flow) + kEntry + kBucketShare + kIndexes <= kBytesPerFlow);

size_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// A 5-tuple from one of eight nets.
FlowSpec SpecOf(uint32_t i) {
  Match match = MatchOf({{Field::kEthType, 0x0800},
                         {Field::kIpProto, 6},
                         {Field::kIpv4Dst, i},
                         {Field::kTcpDst, i % 1000},
                         {Field::kIpv4Src, i % 8 << 24, ~uint32_t{0} << (24 - i % 8)}});
  return Spec(5, match, i % 16);
}

TEST(FlowMemoryTest, AFlowTakesFewBytes) {
  const size_t before = BytesInUse();
  Reclaimer reclaimer(1);
  FlowTable table(1, {}, reclaimer);
  for (uint32_t next = 0; next < kFlows;) {
    std::vector<FlowChange> changes;
    for (uint32_t end = next + 10'000; next < end; ++next) changes.push_back(Create(SpecOf(next)));
    table.Write(changes, BatchMode::kPerItem, false, [](auto) {});
  }
  reclaimer.Flush();
  ASSERT_EQ(table.size(), kFlows);
  const double bytes = static_cast<double>(BytesInUse() - before) / kFlows;
  RecordProperty("bytes_per_flow", std::to_string(bytes));
  printf("%.0f bytes a flow\n", bytes);
#ifndef SLUICE_SANITIZED
  EXPECT_LE(bytes, kBytesPerFlow);
#endif
}

}  // namespace
}  // namespace sluice
