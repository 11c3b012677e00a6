// How fast flows load and are looked up, and how many bytes one takes.
//
// One thread changes or looks up; nothing else runs. Real packets and devices
// are measured by tools/bench.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "dataplane/classifier/classifier.h"
#include "dataplane/classifier/hash.h"
#include "dataplane/classifier/row_and.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/worker/reclaimer.h"

namespace sluice {
namespace {

constexpr uint32_t kBatchItems = 10000;

// Flow i of a table with `masks` masks: TCP to a host and port, from a net.
FlowSpec SpecOf(uint32_t i, uint32_t masks) {
  FlowSpec spec{.priority = static_cast<uint16_t>(i % masks)};
  MatchOn(spec.match, Field::kEthType, 0x0800, 0xffff);
  MatchOn(spec.match, Field::kIpProto, 6, 0xff);
  MatchOn(spec.match, Field::kTcpDst, i % 1000, 0xffff);
  MatchOn(spec.match, Field::kIpv4Dst, i / 1000 * 2654435761u, 0xffffffff);
  const uint32_t net = i % masks;
  MatchOn(spec.match, Field::kIpv4Src, net << 24, ~uint32_t{0} << (24 - net % 16));
  if (net >= 16) MatchOn(spec.match, Field::kEthSrc, net, ~uint64_t{0} >> (16 + net / 16));
  spec.actions = {Action{.type = ActionType::kDecTtl}, Action{.type = ActionType::kOutput, .port = i % 16}};
  return spec;
}

std::vector<FlowChange> CreatesFrom(uint32_t next, uint32_t end, uint32_t masks) {
  std::vector<FlowChange> changes;
  for (; next < end; ++next) changes.push_back(CreateFlow{.spec = SpecOf(next, masks)});
  return changes;
}

void Write(FlowTable& table, const std::vector<FlowChange>& changes) {
  table.Write(changes, BatchMode::kPerItem, false, [](const std::vector<FlowChangeResult>& results) {
    for (const FlowChangeResult& result : results) {
      if (!result.status.ok()) abort();
    }
  });
}

void Load(FlowTable& table, uint32_t flows, uint32_t masks) {
  for (uint32_t next = 0; next < flows; next += kBatchItems) {
    Write(table, CreatesFrom(next, std::min(flows, next + kBatchItems), masks));
  }
}

size_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void BM_Load(benchmark::State& state) {
  const auto flows = static_cast<uint32_t>(state.range(0));
  const auto masks = static_cast<uint32_t>(state.range(1));
  double bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const size_t before = BytesInUse();
    Reclaimer reclaimer(1);
    auto table = std::make_unique<FlowTable>(1, FlowTableLimits{}, reclaimer);
    for (uint32_t next = 0; next < flows; next += kBatchItems) {
      const std::vector<FlowChange> changes = CreatesFrom(next, std::min(flows, next + kBatchItems), masks);
      state.ResumeTiming();
      Write(*table, changes);
      state.PauseTiming();
    }
    reclaimer.Flush();
    bytes = static_cast<double>(BytesInUse() - before) / flows;
    table.reset();
    state.ResumeTiming();
  }
  state.counters["flows_per_second"] = benchmark::Counter(flows, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes_per_flow"] = bytes;
}
BENCHMARK(BM_Load)->Args({1'000'000, 8})->Args({1'000'000, 1})->Args({100'000, 100})->Unit(benchmark::kMillisecond);

// One flow removed and added again at a time, as a controller does.
void BM_Change(benchmark::State& state) {
  Reclaimer reclaimer(1);
  FlowTable table(1, {}, reclaimer);
  const auto flows = static_cast<uint32_t>(state.range(0));
  const auto masks = static_cast<uint32_t>(state.range(1));
  Load(table, flows, masks);
  uint32_t i = 0;
  for (auto _ : state) {
    const FlowSpec spec = SpecOf(i = (i + 7919) % flows, masks);
    const std::vector<FlowChange> changes = {DeleteFlow{FlowIdentity{0, spec.priority, spec.match}},
                                             CreateFlow{.spec = spec}};
    table.Write(changes, BatchMode::kPerItem, false, [](auto) {});
  }
  reclaimer.Flush();
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_Change)->Args({1000, 8})->Args({1'000'000, 8})->Args({4096, 256});

void LookUp(benchmark::State& state, uint32_t flows, uint32_t masks, const ClassifierOptions& options) {
  Reclaimer reclaimer(1);
  FlowTable table(1, {}, reclaimer, options);
  Load(table, flows, masks);
  std::mt19937 random(1);
  std::vector<PacketKey> keys;
  for (uint32_t i = 0; i < 1u << 16; ++i)
    keys.push_back(SpecOf(static_cast<uint32_t>(random()) % flows, masks).match.value);
  const ClassifierEntry* entries[kBatch];
  const uint64_t version = table.classifier().version();
  size_t at = 0;
  for (auto _ : state) {
    table.classifier().Lookup(0, 0, version, &keys[at], kBatch, entries);
    benchmark::DoNotOptimize(entries);
    at = (at + kBatch) % keys.size();
  }
  const TableInfo info = table.Tables()[0];
  state.SetItemsProcessed(kBatch * state.iterations());
  state.counters["masks_per_packet"] = static_cast<double>(info.masks_visited) / static_cast<double>(info.lookups);
  state.counters["hits"] = static_cast<double>(info.matches) / static_cast<double>(info.lookups);
  state.counters["ns_per_packet"] =
      benchmark::Counter(kBatch, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_Lookup(benchmark::State& state) {
  LookUp(state, static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), {});
}
BENCHMARK(BM_Lookup)
    ->Args({1, 1})
    ->Args({1000, 1})
    ->Args({10'000, 1})
    ->Args({100'000, 1})
    ->Args({1'000'000, 1})
    ->Args({10'000, 8})
    ->Args({10'000, 64})
    ->Args({10'000, 256});

// From how many masks on the index pays: each mask with it and without.
void BM_FewMasks(benchmark::State& state) {
  LookUp(state, 10'000, static_cast<uint32_t>(state.range(0)), {.pruning = state.range(1) != 0, .pruned_from = 1});
}
BENCHMARK(BM_FewMasks)->ArgNames({"masks", "pruning"})->ArgsProduct({{4, 6, 8, 10, 12, 16, 24, 32}, {0, 1}});

// A batch of 32 packets and 4 chunks of the key, with vectors and word by word.
template <void (*and_rows)(const RowSet&, unsigned, uint64_t*, uint64_t*)>
void BM_AndRows(benchmark::State& state) {
  constexpr unsigned kChunks = 4;
  constexpr unsigned kRows = 64;
  const auto words = static_cast<unsigned>(state.range(0));
  std::mt19937_64 random(1);
  std::vector<std::atomic<uint64_t>> bits(size_t{kRows} * words);
  for (std::atomic<uint64_t>& word : bits) word = random() & random() & random();
  std::vector<const std::atomic<uint64_t>*> rows;
  for (unsigned i = 0; i < kBatch * kChunks; ++i) rows.push_back(&bits[random() % kRows * words]);
  const std::vector<uint64_t> passing(size_t{kChunks} * words);
  const std::vector<uint64_t> live(words, ~uint64_t{0});
  std::vector<uint64_t> out(size_t{kBatch} * words);
  std::vector<uint64_t> used(size_t{kBatch} * UsedWords(words));
  const RowSet set{rows.data(), passing.data(), live.data(), kChunks, words};
  for (auto _ : state) {
    and_rows(set, kBatch, out.data(), used.data());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(kBatch * state.iterations());
}
BENCHMARK(BM_AndRows<AndRows>)->ArgName("words")->Arg(8)->Arg(16)->Arg(64);
BENCHMARK(BM_AndRows<AndRowsByWord>)->ArgName("words")->Arg(8)->Arg(16)->Arg(64);

// Flow i of one masked key: up to 1,000 source and as many destination ports, so
// that few flows contain a packet's, and the winner stands anywhere.
FlowSpec RangedSpecOf(uint32_t i) {
  std::mt19937 random(i);
  const auto range = [&random] {
    const auto first = static_cast<uint16_t>(random() % 64000);
    return PortRange{first, static_cast<uint16_t>(first + 1 + random() % 1000)};
  };
  FlowSpec spec{.priority = static_cast<uint16_t>(random())};
  MatchOn(spec.match, Field::kIpProto, 6, 0xff);
  MatchOnRange(spec.match, Field::kTcpSrc, range());
  MatchOnRange(spec.match, Field::kTcpDst, range());
  spec.actions = {Action{.type = ActionType::kOutput, .port = i % 16}};
  return spec;
}

void BM_LookupRanges(benchmark::State& state) {
  Reclaimer reclaimer(1);
  FlowTable table(1, {}, reclaimer);
  const auto flows = static_cast<uint32_t>(state.range(0));
  std::vector<FlowChange> changes;
  for (uint32_t i = 0; i < flows; ++i) changes.push_back(CreateFlow{.spec = RangedSpecOf(i)});
  Write(table, changes);
  std::mt19937 random(1);
  std::vector<PacketKey> keys;
  for (uint32_t i = 0; i < 1u << 14; ++i) {
    const Match match = RangedSpecOf(static_cast<uint32_t>(random()) % flows).match;
    keys.push_back(match.value);
    PutField(keys.back(), Field::kTcpSrc, match.ports.source.first);
    PutField(keys.back(), Field::kTcpDst, match.ports.destination.last);
  }
  const ClassifierEntry* entries[kBatch];
  const uint64_t version = table.classifier().version();
  size_t at = 0;
  for (auto _ : state) {
    table.classifier().Lookup(0, 0, version, &keys[at], kBatch, entries);
    benchmark::DoNotOptimize(entries);
    at = (at + kBatch) % keys.size();
  }
  state.SetItemsProcessed(kBatch * state.iterations());
  state.counters["ns_per_packet"] =
      benchmark::Counter(kBatch, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_LookupRanges)->Arg(4)->Arg(10)->Arg(16)->Arg(32)->Arg(100)->Arg(1000)->Arg(10'000)->Arg(100'000);

void BM_LoadRanges(benchmark::State& state) {
  const auto flows = static_cast<uint32_t>(state.range(0));
  const auto at_once = static_cast<uint32_t>(state.range(1));
  std::vector<std::vector<FlowChange>> batches;
  for (uint32_t i = 0; i < flows; ++i) {
    if (i % at_once == 0) batches.emplace_back();
    batches.back().push_back(CreateFlow{.spec = RangedSpecOf(i)});
  }
  double bytes = 0;
  for (auto _ : state) {
    const size_t before = BytesInUse();
    Reclaimer reclaimer(1);
    FlowTable table(1, {}, reclaimer);
    for (const std::vector<FlowChange>& changes : batches) Write(table, changes);
    reclaimer.Flush();
    bytes = static_cast<double>(BytesInUse() - before) / flows;
  }
  state.counters["flows_per_second"] = benchmark::Counter(flows, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes_per_flow"] = bytes;
}
BENCHMARK(BM_LoadRanges)
    ->Args({10'000, 10'000})
    ->Args({10'000, 1})
    ->Args({100'000, 10'000})
    ->Unit(benchmark::kMillisecond);

// What a list that selects nothing costs.
void BM_ListNothing(benchmark::State& state) {
  Reclaimer reclaimer(1);
  FlowTable table(1, {}, reclaimer);
  Load(table, 1'000'000, 8);
  for (auto _ : state) benchmark::DoNotOptimize(table.List({.match = {}, .cookie = 1, .cookie_mask = 1}, 0, 1000));
}
BENCHMARK(BM_ListNothing)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();
