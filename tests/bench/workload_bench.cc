// What the classifier alone costs a packet on real filter sets, with and without
// pruning.
//
//   SLUICE_WORKLOADS="DIR ..." workload_bench [google-benchmark's options]
//
// A DIR is one that tools/bench made. One thread; no flow cache; keys are parsed
// beforehand.

#include <benchmark/benchmark.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "dataplane/classifier/classifier.h"
#include "dataplane/worker/reclaimer.h"
#include "tests/bench/workload.h"

namespace sluice {
namespace {

constexpr size_t kChangesAtOnce = 1000;
constexpr unsigned kBatches = 64;  // timed together

// Tells flows a second.
double Load(FlowTable& table, const Workload& workload) {
  std::vector<FlowChange> changes;
  for (const FlowSpec& spec : workload.flows) changes.push_back(CreateFlow{.spec = spec, .allow_existing = true});
  const absl::Time start = absl::Now();
  for (size_t at = 0; at < changes.size(); at += kChangesAtOnce) {
    const std::span<const FlowChange> rest = std::span(changes).subspan(at);
    table.Write(rest.first(std::min(rest.size(), kChangesAtOnce)), BatchMode::kPerItem, false, [](auto) {});
  }
  return static_cast<double>(changes.size()) / absl::ToDoubleSeconds(absl::Now() - start);
}

void BM_Workload(benchmark::State& state, const std::string& folder, const ClassifierOptions& options) {
  const Workload workload = ReadWorkload(folder);
  Reclaimer reclaimer(1);
  FlowTable table(1, {}, reclaimer, options);
  state.counters["adds/s"] = Load(table, workload);
  reclaimer.Flush();
  const std::vector<PacketKey>& keys = workload.keys;
  const ClassifierEntry* entries[kBatch];
  const uint64_t version = table.classifier().version();
  size_t at = 0;
  std::vector<uint64_t> cycles;
  for (auto _ : state) {
    const uint64_t start = __rdtsc();
    for (unsigned i = 0; i < kBatches; ++i) {
      table.classifier().Lookup(0, 0, version, &keys[at], kBatch, entries);
      benchmark::DoNotOptimize(entries);
      at = at + 2 * kBatch > keys.size() ? 0 : at + kBatch;
    }
    cycles.push_back(__rdtsc() - start);
  }
  const TableInfo info = table.Tables()[0];
  const auto packets = static_cast<double>(info.lookups);
  // The median: what else the machine does is left out.
  std::ranges::nth_element(cycles, cycles.begin() + static_cast<ptrdiff_t>(cycles.size() / 2));
  state.counters["cycles"] = static_cast<double>(cycles[cycles.size() / 2]) / (kBatches * kBatch);
  state.counters["masks"] = info.mask_count;
  state.counters["visited"] = static_cast<double>(info.masks_visited) / packets;
  state.counters["matched"] = static_cast<double>(info.matches) / packets;
  state.counters["hinted"] = static_cast<double>(info.mask_cache_hits) / packets;
  state.counters["index_bytes"] = static_cast<double>(info.index_bytes);
}

void Register(const std::string& folder) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  const auto add = [&](const char* how, const ClassifierOptions& options) {
    benchmark::RegisterBenchmark(absl::StrCat(name, "/", how).c_str(), BM_Workload, folder, options);
  };
  add("pruned", {});
  add("in_order", {.pruning = false});
  add("hinted", {.pruning = false, .equal_priority = EqualPriority::kAny, .mask_cache_entries = 1 << 16});
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const char* folders = std::getenv("SLUICE_WORKLOADS");  // NOLINT(concurrency-mt-unsafe): before any thread
  for (const absl::string_view folder : absl::StrSplit(folders == nullptr ? "" : folders, ' ', absl::SkipEmpty()))
    sluice::Register(std::string(folder));
  benchmark::RunSpecifiedBenchmarks();
}
