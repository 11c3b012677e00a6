#include "tests/unit/dataplane/dataplane_testing.h"

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <iostream>
#include <numeric>
#include <thread>

#include "dataplane/packet/field.h"
#include "dataplane/worker/eal.h"
#include "dataplane/worker/memory.h"
#include "dataplane/worker/placement.h"

namespace sluice {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::cerr << result.status() << "\n";
    abort();
  }
  return *std::move(result);
}

std::unique_ptr<Eal> StartEal() {
  DataplaneConfig config;
  config.packet_buffers = kTestBuffers;
  config.packet_buffer_bytes = kTestBufferBytes;
  const Placement placement = OrDie(PlaceWorkers(OrDie(AllowedCpus()), {}, 1));
  return OrDie(Eal::Start(config, placement, OrDie(PlanMemory(config, ReadMemory()))));
}

FlowChangeResult WriteOne(FlowTable& flows, const FlowChange& change) {
  std::promise<FlowChangeResult> result;
  flows.Write({&change, 1}, BatchMode::kPerItem, false,
              [&](std::vector<FlowChangeResult> results) { result.set_value(std::move(results.at(0))); });
  FlowChangeResult got = result.get_future().get();
  if (!got.status.ok()) {
    std::cerr << got.status << "\n";
    abort();
  }
  return got;
}

}  // namespace

rte_mempool* TestPool() {
  static const std::unique_ptr<Eal> eal = StartEal();
  return eal->pool();
}

unsigned FreeBuffers() { return rte_mempool_avail_count(TestPool()); }

void TakeAllBuffersBut(unsigned left, std::vector<rte_mbuf*>& hoard) {
  while (rte_mbuf* mbuf = rte_pktmbuf_alloc(TestPool())) hoard.push_back(mbuf);
  for (; left != 0; --left) {
    rte_pktmbuf_free(hoard.back());
    hoard.pop_back();
  }
}

void ReturnBuffers(std::vector<rte_mbuf*>& hoard) {
  for (rte_mbuf* mbuf : hoard) rte_pktmbuf_free(mbuf);
  hoard.clear();
}

Action OutputTo(uint32_t port) { return {.type = ActionType::kOutput, .port = port}; }
Action Of(ActionType type) { return {.type = type}; }
Action SetTo(Field field, absl::uint128 value) {
  return {.type = ActionType::kSetField, .field = field, .value = value, .mask = absl::Uint128Max()};
}

Action GoTo(uint8_t table_id) { return {.type = ActionType::kGotoTable, .port = table_id}; }
Action Deferred(Action action) {
  action.deferred = true;
  return action;
}

Match MatchOf(const std::vector<std::pair<Field, absl::uint128>>& fields) {
  Match match;
  for (const auto& [field, value] : fields) MatchOn(match, field, value, absl::Uint128Max());
  return match;
}

TestSwitch::TestSwitch(unsigned workers, unsigned rx_burst) {
  TestPool();
  reclaimer_ = std::make_unique<Reclaimer>(workers);
  flows_ = std::make_unique<FlowTable>(workers, FlowTableLimits{}, *reclaimer_);
  const std::vector<unsigned> allowed = OrDie(AllowedCpus());
  Engine::Options options{
      .worker_cpus = {}, .idle = IdleMode::kAdaptive, .rx_burst = rx_burst, .flow_cache_entries = 256};
  for (unsigned i = 0; i < workers; ++i) options.worker_cpus.push_back(allowed[(i + 1) % allowed.size()]);
  engine_ = std::make_unique<Engine>(options, TestPool(), *flows_, *reclaimer_);
}

TestSwitch::~TestSwitch() {
  while (!ports_.empty()) RemovePort(ports_.begin()->first);
}

MemoryPort& TestSwitch::AddPort(uint32_t number, const Port::Traits& traits, const Engine::PortState& state,
                                bool wakes) {
  auto& slot = ports_[number] = std::make_unique<MemoryPort>(TestPool(), traits, wakes);
  EXPECT_EQ(engine_->Attach(*slot, number, state), absl::OkStatus());
  return *slot;
}

PortStats TestSwitch::RemovePort(uint32_t number) {
  const PortStats stats = OrDie(engine_->Detach(number));
  ports_.erase(number);
  return stats;
}

uint64_t TestSwitch::AddFlow(const Match& match, ActionList actions, uint16_t priority) {
  return AddFlowTo(0, match, std::move(actions), priority);
}

uint64_t TestSwitch::AddFlowTo(uint8_t table_id, const Match& match, ActionList actions, uint16_t priority) {
  CreateFlow create;
  create.spec = {.table_id = table_id, .priority = priority, .match = match, .actions = std::move(actions)};
  return WriteOne(*flows_, create).flow.id;
}

FlowStats TestSwitch::DeleteFlow(uint64_t id) { return WriteOne(*flows_, sluice::DeleteFlow{id}).flow.stats; }

FlowStats TestSwitch::StatsOf(uint64_t id) const { return OrDie(flows_->Get(id)).stats; }

void TestSwitch::Run() {
  unsigned moved = 1;
  while (moved != 0) {
    moved = 0;
    for (size_t id = 0; id < engine_->Workers().size(); ++id) {
      moved += engine_->worker(static_cast<unsigned>(id)).RunOnce();
    }
  }
}

void TestSwitch::Receive(uint32_t port_number, std::vector<Bytes> frames) {
  for (Bytes& frame : frames) port(port_number).Deliver(std::move(frame));
  Run();
}

absl::StatusOr<Dataplane::Sent> TestSwitch::Send(const Bytes& bytes, uint32_t in_port, ActionList actions) {
  const PacketToSend packet{std::string(bytes.begin(), bytes.end()), in_port, std::move(actions)};
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) engine_->worker(0).RunOnce();
  });
  const auto sent = engine_->SendPacket(packet);
  stop = true;
  worker.join();
  return sent;
}

uint64_t TestSwitch::Drops(DropReason reason) const { return engine_->Totals().drops[static_cast<int>(reason)]; }

bool TestSwitch::Conserves() const {
  const PacketTotals totals = engine_->Totals();
  return totals.received == totals.forwarded + std::accumulate(std::begin(totals.drops), std::end(totals.drops), 0ull);
}

}  // namespace sluice
