// A worker forwards from its flow cache while a writer deletes flows and adds
// them again. Bursts are noted with their version, and each is then repeated
// with the linear classifier as it was at that version.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "dataplane/classifier/flow_cache.h"
#include "tests/support/linear_classifier.h"
#include "tests/unit/flow/flow_testing.h"

namespace sluice {
namespace {

#ifdef SLUICE_SANITIZED
constexpr uint32_t kFlows = 300;
constexpr uint32_t kUpdates = 200;
#else
constexpr uint32_t kFlows = 3000;
constexpr uint32_t kUpdates = 2000;
#endif
constexpr uint32_t kChangesAtOnce = 100;
constexpr uint32_t kKeys = 2048;
constexpr unsigned kNotedBursts = 500;

// Overlapping filters of a few dozen masks, with ties. Flow i outputs to i + 1.
FlowSpec Filter(uint32_t i, std::mt19937& random) {
  const auto prefix = [&random](unsigned longest) { return ~uint32_t{0} << (32 - longest / 4 * (1 + random() % 4)); };
  FlowSpec spec = Spec(static_cast<uint16_t>(random() % 50), {}, i + 1);
  MatchOn(spec.match, Field::kEthType, 0x0800, 0xffff);
  MatchOn(spec.match, Field::kIpv4Src, 0x0a000000 | random() % 0x40000, prefix(32));
  MatchOn(spec.match, Field::kIpv4Dst, 0x0b000000 | random() % 0x40000, prefix(32));
  if (random() % 2 == 0) {
    MatchOn(spec.match, Field::kIpProto, 6, 0xff);
    MatchOn(spec.match, Field::kTcpDst, random() % 1000, 0xffff);
  }
  return spec;
}

struct NotedBurst {
  uint64_t version;
  uint32_t first_key;
  std::array<uint32_t, kBatch> outputs;
};

struct Update {
  uint64_t version;  // the first that has it
  std::vector<uint32_t> removed;
  std::vector<uint32_t> added;
};

class FlowUpdatesTest : public FlowTest {
 protected:
  FlowUpdatesTest() {
    std::vector<FlowChange> creates;
    while (filters_.size() < kFlows) {
      FlowSpec spec = Filter(static_cast<uint32_t>(filters_.size()), random_);
      const bool twin = std::ranges::any_of(filters_, [&](const FlowSpec& other) {
        return other.priority == spec.priority && other.match == spec.match;
      });
      if (twin) continue;
      filters_.push_back(spec);
      creates.push_back(Create(spec));
    }
    Write(creates);
    for (uint32_t i = 0; i < kKeys; ++i) {
      PacketKey key = filters_[random_() % kFlows].match.value;
      PutField(key, Field::kIpProto, random_() % 4 == 0 ? 17 : 6);
      key.present |= kPresentL4;
      keys_.push_back(key);
    }
  }

  void Forward() {
    FlowCache cache(1024);
    std::mt19937 random(2);
    const ClassifierEntry* entries[kBatch];
    for (uint64_t burst = 0; !stop_; ++burst) {
      reclaimer.Online(0);
      const uint32_t first = random() % (kKeys - kBatch + 1);
      const TableView view = table.classifier().View();
      cache.Lookup(table.classifier(), 0, 0, view, &keys_[first], kBatch, entries);
      // All of the time is covered, whatever the machine's speed.
      if (noted_.size() * kUpdates <= uint64_t{kNotedBursts} * updates_done_) {
        NotedBurst& noted = noted_.emplace_back(NotedBurst{view.version, first, {}});
        for (unsigned i = 0; i < kBatch; ++i) noted.outputs[i] = PortOf(entries[i]);
      }
      reclaimer.Quiescent(0);
      reclaimer.Offline(0);
    }
  }

  void Change() {
    std::vector<uint32_t> absent;
    for (uint32_t round = 0; round < kUpdates; ++round) {
      Update update{.version = 0, .removed = {}, .added = absent};
      std::vector<FlowChange> changes;
      for (const uint32_t i : absent) changes.push_back(Create(filters_[i]));
      std::vector<uint32_t> present;
      while (present.size() < kChangesAtOnce - absent.size()) {
        const uint32_t i = random_() % kFlows;
        if (!std::ranges::count(absent, i) && !std::ranges::count(present, i)) present.push_back(i);
      }
      if (absent.empty()) present.resize(kChangesAtOnce / 2);
      for (const uint32_t i : present) changes.push_back(DeleteFlow{IdentityOf(filters_[i])});
      update.removed = present;
      table.Write(changes, BatchMode::kPerItem, false, [this](const std::vector<FlowChangeResult>& results) {
        for (const FlowChangeResult& result : results) {
          if (!result.status.ok()) failed_ = true;
        }
      });
      update.version = table.classifier().version();
      updates_.push_back(std::move(update));
      absent = present;
      ++updates_done_;
      if (round % 16 == 0) table.Housekeep();
      if (round % 4 == 0) std::this_thread::yield();
    }
    stop_ = true;
  }

  std::mt19937 random_{1};
  std::vector<FlowSpec> filters_;
  std::vector<PacketKey> keys_;
  std::vector<NotedBurst> noted_;
  std::vector<Update> updates_;
  std::atomic<uint64_t> updates_done_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
};

TEST_F(FlowUpdatesTest, EveryBurstSeesItsVersion) {
  std::thread worker([this] { Forward(); });
  Change();
  worker.join();
  reclaimer.Flush();
  ASSERT_FALSE(failed_);
  ASSERT_GE(noted_.size(), kNotedBursts / 2);
  LinearClassifier linear;
  const auto add = [&](uint32_t i) {
    linear.Add({.id = i + 1, .priority = filters_[i].priority, .match = filters_[i].match, .output = i + 1});
  };
  for (uint32_t i = 0; i < kFlows; ++i) add(i);
  size_t next = 0;
  size_t versions = 0;
  size_t matched = 0;
  for (const NotedBurst& burst : noted_) {
    versions += next < updates_.size() && updates_[next].version <= burst.version;
    for (; next < updates_.size() && updates_[next].version <= burst.version; ++next) {
      for (const uint32_t i : updates_[next].added) add(i);
      for (const uint32_t i : updates_[next].removed) linear.Remove(i + 1);
    }
    for (unsigned i = 0; i < kBatch; ++i) {
      const LinearFlow* expected = linear.Lookup(keys_[burst.first_key + i]);
      ASSERT_EQ(burst.outputs[i], expected == nullptr ? 0 : expected->output)
          << "packet " << i << " at version " << burst.version;
      matched += expected != nullptr;
    }
  }
  // Else it would show little.
  EXPECT_GE(versions, noted_.size() / 10);
  EXPECT_GE(matched, noted_.size() * kBatch / 2);
}

}  // namespace
}  // namespace sluice
