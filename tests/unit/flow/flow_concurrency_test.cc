// Workers look up, a writer changes and a reader of statistics reads, all at
// once. Of most use with ThreadSanitizer and AddressSanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

#ifdef SLUICE_SANITIZED
constexpr int kBatches = 1500;
constexpr uint64_t kBursts = 1500;
#else
constexpr int kBatches = 10000;
constexpr uint64_t kBursts = 20000;
#endif
constexpr unsigned kReaders = 2;
constexpr uint32_t kHosts = 400;

// Two flows whose outputs are swapped in one batch: whoever sees both alike has
// seen half of one.
const Match kLeft = MatchOf({{Field::kInPort, 1}});
const Match kRight = MatchOf({{Field::kEthType, 0x0800}, {Field::kInPort, 2}});
// One of two flows, of different masks, is there at any version.
const Match kEven = MatchOf({{Field::kUdpDst, 1}});
const Match kOdd = MatchOf({{Field::kUdpDst, 2, 0xfff}});
// Below all and always there; the one above it comes and goes.
const Match kAll;
const Match kAbove = MatchOf({{Field::kVlanVid, 7}});

Match Host(uint32_t host) { return MatchOf({{Field::kIpv4Dst, host}}); }

FlowIdentity Identity(uint16_t priority, const Match& match) { return {0, priority, match}; }

using PacketsById = std::map<uint64_t, uint64_t>;

// With an index of the masks from the start, and without one.
const ClassifierOptions kPruned{.pruned_from = 2};
const ClassifierOptions kUnpruned{.pruning = false, .mask_cache_entries = 64};

class FlowConcurrencyTest : public FlowTest, public testing::WithParamInterface<ClassifierOptions> {
 protected:
  FlowConcurrencyTest() : FlowTest({}, GetParam()) {
    Write(
        {Create(Spec(5, kLeft, 1)), Create(Spec(5, kRight, 2)), Create(Spec(5, kEven, 3)), Create(Spec(1, kAll, 100))});
  }

  // A worker: bursts until told to stop, and now and then a nap.
  PacketsById Read(unsigned worker) {
    std::mt19937 random(worker);
    PacketsById counted;
    reclaimer.Online(worker);
    for (int burst = 1; !stop_; ++burst) {
      Burst(worker, random, counted);
      ++bursts_;
      reclaimer.Quiescent(worker);
      if (burst % 64 == 0) {
        reclaimer.Offline(worker);
        std::this_thread::yield();
        reclaimer.Online(worker);
      }
    }
    reclaimer.Offline(worker);
    return counted;
  }

  void Burst(unsigned worker, std::mt19937& random, PacketsById& counted) {
    constexpr unsigned kKeys = 12;
    PacketKey keys[kKeys] = {kLeft.value, kRight.value, kEven.value, kOdd.value, kAbove.value};
    for (unsigned i = 5; i < kKeys; ++i) keys[i] = Host(random() % kHosts).value;
    const ClassifierEntry* entries[kKeys];
    const uint64_t version = table.classifier().version();
    // In two calls: the version holds them together.
    table.classifier().Lookup(worker, 0, version, keys, 3, entries);
    table.classifier().Lookup(worker, 0, version, keys + 3, kKeys - 3, entries + 3);
    const uint32_t left = PortOf(entries[0]);
    const uint32_t right = PortOf(entries[1]);
    if (left + right != 3 || left == right) torn_ = true;
    const bool even = PortOf(entries[2]) == 3;
    const bool odd = PortOf(entries[3]) == 4;
    if (even == odd) torn_ = true;
    const uint32_t above = PortOf(entries[4]);
    if (above != 100 && above != 101) torn_ = true;
    for (const ClassifierEntry* entry : entries) {
      if (entry == nullptr) torn_ = true;
      if (entry == nullptr) continue;
      entry->Count(worker, 1, 64, 1);
      ++counted[entry->flow()->id];
    }
  }

  // As a scrape and a client that lists; no flow's sum ever goes backwards.
  void ReadStatistics() {
    PacketsById before;
    while (!stop_) {
      for (const FlowInfo& info : table.List({}, 0, 1'000'000)) {
        EXPECT_GE(info.stats.packets, before[info.id]);
        before[info.id] = info.stats.packets;
      }
      table.Masks(0);
      table.Tables();
    }
  }

  void WriteBatch(int i, std::mt19937& random) {
    const bool swapped = i % 2 == 0;
    std::vector<FlowChange> changes = {
        UpdateFlow{.key = Identity(5, kLeft), .actions = Output(swapped ? 2 : 1)},
        UpdateFlow{.key = Identity(5, kRight), .actions = Output(swapped ? 1 : 2)},
        DeleteFlow{swapped ? Identity(5, kEven) : Identity(6, kOdd)},
        Create(swapped ? Spec(6, kOdd, 4) : Spec(5, kEven, 3)),
    };
    if (swapped) changes.push_back(Create(Spec(9, kAbove, 101)));
    if (!swapped) changes.push_back(DeleteFlow{Identity(9, kAbove)});
    // Hosts come and go; so does whole growth of their subtable.
    for (int k = 0; k < 4; ++k) {
      const Match host = Host(4 * (random() % (kHosts / 4)) + static_cast<uint32_t>(k));
      CreateFlow create = Create(Spec(7, host, 200));
      create.allow_existing = true;
      if (random() % 2 == 0) changes.push_back(create);
      if (table.Get(FlowKey(Identity(7, host))).ok() && random() % 2 == 0)
        changes.push_back(DeleteFlow{Identity(7, host)});
    }
    table.Write(changes, BatchMode::kAllOrNothing, false, [this](const std::vector<FlowChangeResult>& results) {
      std::lock_guard lock(mutex_);
      for (const FlowChangeResult& result : results) failed_ |= !result.status.ok();
    });
  }

  // Keeps what is deleted with its final counters.
  void KeepDeleted(const std::vector<FlowChange>& changes) {
    table.Write(changes, BatchMode::kPerItem, false, [this, changes](const std::vector<FlowChangeResult>& results) {
      std::lock_guard lock(mutex_);
      for (size_t i = 0; i < results.size(); ++i) {
        if (!std::holds_alternative<DeleteFlow>(changes[i]) || !results[i].status.ok()) continue;
        deleted_[results[i].flow.id] += results[i].flow.stats.packets;
      }
    });
  }

  // However fast one side is, the other gets its turns.
  bool GoOn(int batch) const { return !torn_ && (batch < kBatches || bursts_ < kBursts); }

  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> bursts_ = 0;
  std::atomic<bool> torn_ = false;
  std::mutex mutex_;
  bool failed_ = false;
  PacketsById deleted_;  // final counters
};

TEST_P(FlowConcurrencyTest, NoBurstSeesHalfOfABatch) {
  std::vector<std::jthread> readers;
  for (unsigned worker = 0; worker < kReaders; ++worker) readers.emplace_back([this, worker] { Read(worker); });
  std::mt19937 random(7);
  for (int i = 0; GoOn(i); ++i) {
    WriteBatch(i, random);
    if (i % 16 == 0) table.Resort();
    if (i % 64 == 0) table.SetOptions(i % 128 == 0 ? kPruned : kUnpruned);
  }
  stop_ = true;
  readers.clear();
  reclaimer.Flush();
  EXPECT_FALSE(torn_);
  EXPECT_FALSE(failed_);
}

TEST_P(FlowConcurrencyTest, EveryPacketIsCountedOnceThroughDeleteAndAdd) {
  std::vector<PacketsById> counted(kReaders);
  std::vector<std::jthread> threads;
  for (unsigned worker = 0; worker < kReaders; ++worker) {
    threads.emplace_back([&, worker] { counted[worker] = Read(worker); });
  }
  threads.emplace_back([this] { ReadStatistics(); });
  std::mt19937 random(8);
  for (int i = 0; GoOn(i); ++i) {
    const Match host = Host(random() % kHosts);
    switch (random() % 4) {
      case 0:
        KeepDeleted({DeleteFlow{Identity(7, host)}, Create(Spec(7, host, 201))});
        break;
      case 1:
        KeepDeleted({DeleteFlow{Identity(7, host)}});
        break;
      case 2:
        KeepDeleted({UpdateFlow{.key = Identity(7, host), .actions = Output(202)}});
        break;
      default:
        KeepDeleted({Create(Spec(7, host, 200)), Create(Spec(7, Host(random() % kHosts), 203))});
    }
    if (i % 16 == 0) table.Housekeep();
  }
  stop_ = true;
  threads.clear();
  reclaimer.Flush();
  PacketsById expected;
  for (const PacketsById& of_worker : counted) {
    for (const auto& [id, packets] : of_worker) expected[id] += packets;
  }
  PacketsById total = deleted_;
  for (const FlowInfo& info : table.List({}, 0, 1'000'000)) total[info.id] += info.stats.packets;
  std::erase_if(total, [](const auto& flow) { return flow.second == 0; });
  EXPECT_EQ(total, expected);
  EXPECT_FALSE(torn_) << "left, right, even and odd stood as they were";
}

INSTANTIATE_TEST_SUITE_P(Options, FlowConcurrencyTest, testing::Values(kPruned, kUnpruned),
                         [](const auto& test) { return test.param.pruning ? "Pruned" : "Unpruned"; });

}  // namespace
}  // namespace sluice
