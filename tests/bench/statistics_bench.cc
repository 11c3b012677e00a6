// What counting costs a burst: each worker in a slot of its own, as the switch
// does, against one counter of the flow behind a lock that all workers share.
//
// Two threads hit the same flow.

#include <benchmark/benchmark.h>

#include <mutex>

#include "dataplane/flow/statistics.h"

namespace sluice {
namespace {

constexpr unsigned kWorkers = 2;
constexpr uint64_t kPackets = 32;
constexpr uint64_t kBytes = 32 * 60;

struct CountedFlow {
  CounterPools pools{kWorkers};
  CounterIndex index;
  CounterLine line;

  CountedFlow() { index.pools = &pools; }
};

void BM_OwnSlot(benchmark::State& state) {
  static CountedFlow flow;
  int64_t now = 0;
  for (auto _ : state) {
    Count(flow.index, flow.line, static_cast<unsigned>(state.thread_index()), kPackets, kBytes, ++now);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_OwnSlot)->Threads(1)->Threads(kWorkers)->UseRealTime();

void BM_SharedLock(benchmark::State& state) {
  static std::mutex mutex;
  static CounterSlot counter;
  int64_t now = 0;
  for (auto _ : state) {
    const std::lock_guard lock(mutex);
    counter.Add(kPackets, kBytes, ++now);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SharedLock)->Threads(1)->Threads(kWorkers)->UseRealTime();

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();
