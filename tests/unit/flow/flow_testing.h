// What the tests of flows share: short ways to say matches, keys and changes,
// and a table with its reclaimer. Workers are offline until a test says so.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <initializer_list>
#include <utility>
#include <vector>

#include "dataplane/classifier/classifier.h"
#include "dataplane/classifier/hash.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/worker/reclaimer.h"

namespace sluice {

struct Condition {
  Field field;
  absl::uint128 value;
  absl::uint128 mask = absl::Uint128Max();
};

inline Match MatchOf(std::initializer_list<Condition> conditions) {
  Match match;
  for (const Condition& c : conditions) MatchOn(match, c.field, c.value, c.mask);
  return match;
}

// A packet that has what the match demands and zeros elsewhere.
inline PacketKey KeyOf(std::initializer_list<Condition> conditions) { return MatchOf(conditions).value; }

inline const Match kPort1 = MatchOf({{Field::kInPort, 1}});
inline const Match kPort2 = MatchOf({{Field::kInPort, 2}});
inline const Match kNet10 = MatchOf({{Field::kIpv4Dst, 0x0a000000, 0xff000000}});
inline const Match kUdp = MatchOf({{Field::kUdpDst, 53}});
inline const PacketKey kFromPort1 = KeyOf({{Field::kInPort, 1}});
inline const PacketKey kFromPort2 = KeyOf({{Field::kInPort, 2}});

inline Match ToHost(uint32_t host) { return MatchOf({{Field::kIpv4Dst, host}}); }

inline ActionList Output(uint32_t port) { return {Action{.type = ActionType::kOutput, .port = port}}; }

inline FlowSpec Spec(uint16_t priority, const Match& match, uint32_t port, uint64_t cookie = 0) {
  return {.priority = priority, .match = match, .actions = Output(port), .cookie = cookie};
}

inline FlowIdentity IdentityOf(const FlowSpec& spec) { return {spec.table_id, spec.priority, spec.match}; }

inline CreateFlow Create(FlowSpec spec) { return {.spec = std::move(spec)}; }

// The port of the flow's output; 0 for no flow.
inline uint32_t PortOf(const ClassifierEntry* entry) {
  return entry == nullptr || ActionsOf(*entry).empty() ? 0 : ActionsOf(*entry)[0].port;
}

class FlowTest : public testing::Test {
 protected:
  static constexpr unsigned kWorkers = 3;

  explicit FlowTest(FlowTableLimits limits = {}, const ClassifierOptions& options = {})
      : table(kWorkers, limits, reclaimer, options) {}

  // Returns when done was called. Every worker must be offline.
  std::vector<FlowChangeResult> Write(const std::vector<FlowChange>& changes, BatchMode mode = BatchMode::kPerItem,
                                      bool validate_only = false) {
    return WriteLater(changes, mode, validate_only).get();
  }
  std::future<std::vector<FlowChangeResult>> WriteLater(const std::vector<FlowChange>& changes,
                                                        BatchMode mode = BatchMode::kPerItem,
                                                        bool validate_only = false) {
    auto promise = std::make_shared<std::promise<std::vector<FlowChangeResult>>>();
    table.Write(changes, mode, validate_only,
                [promise](std::vector<FlowChangeResult> results) { promise->set_value(std::move(results)); });
    return promise->get_future();
  }
  FlowChangeResult WriteOne(FlowChange change) { return Write({std::move(change)})[0]; }
  // Returns the id.
  uint64_t Add(FlowSpec spec) {
    const FlowChangeResult result = WriteOne(Create(std::move(spec)));
    EXPECT_TRUE(result.status.ok()) << result.status;
    return result.flow.id;
  }
  FlowTable::DeletedSum DeleteMatching(const FlowFilter& filter) {
    std::promise<FlowTable::DeletedSum> sum;
    table.DeleteMatching(filter, [&sum](FlowTable::DeletedSum s) { sum.set_value(s); });
    return sum.get_future().get();
  }

  const ClassifierEntry* Find(const PacketKey& key, uint64_t version, uint8_t table_id = 0, unsigned worker = 0) {
    const ClassifierEntry* entry = nullptr;
    table.classifier().Lookup(worker, table_id, version, &key, 1, &entry);
    return entry;
  }
  const ClassifierEntry* Find(const PacketKey& key) { return Find(key, table.classifier().version()); }
  // As a worker does with a packet that hits a flow.
  void Hit(const PacketKey& key, unsigned worker, uint64_t packets, uint64_t bytes, int64_t now = 1) {
    reclaimer.Online(worker);
    const ClassifierEntry* entry = Find(key, table.classifier().version(), 0, worker);
    if (entry != nullptr) entry->Count(worker, packets, bytes, now);
    EXPECT_NE(entry, nullptr);
    reclaimer.Offline(worker);
  }
  FlowStats StatsOf(uint64_t id) { return table.Get(id)->stats; }

  Reclaimer reclaimer{kWorkers};
  FlowTable table;
};

}  // namespace sluice
