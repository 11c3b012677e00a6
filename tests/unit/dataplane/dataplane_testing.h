// What the tests of the packet loop share: EAL without huge pages, once a
// process, and a switch whose ports are in memory and whose workers run when
// told to.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/dataplane.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/worker/engine.h"
#include "dataplane/worker/reclaimer.h"
#include "tests/support/memory_port.h"

struct rte_mbuf;
struct rte_mempool;

namespace sluice {

inline constexpr uint32_t kTestBuffers = 4096;
inline constexpr uint32_t kTestBufferBytes = 2176;

// Starts EAL when first called. Its pool has kTestBuffers buffers.
rte_mempool* TestPool();
// Buffers that are in nobody's hands; those in thread caches count as free.
unsigned FreeBuffers();

// Makes the pool all but empty, and full again.
void TakeAllBuffersBut(unsigned left, std::vector<rte_mbuf*>& hoard);
void ReturnBuffers(std::vector<rte_mbuf*>& hoard);

Action OutputTo(uint32_t port);
Action Of(ActionType type);
Action SetTo(Field field, absl::uint128 value);
Action GoTo(uint8_t table_id);
// Put into the action set.
Action Deferred(Action action);
// With all bits of each field.
Match MatchOf(const std::vector<std::pair<Field, absl::uint128>>& fields);

class TestSwitch {
 public:
  explicit TestSwitch(unsigned workers = 1, unsigned rx_burst = 32);
  ~TestSwitch();

  MemoryPort& AddPort(uint32_t number, const Port::Traits& traits = {}, const Engine::PortState& state = {},
                      bool wakes = false);
  MemoryPort& port(uint32_t number) { return *ports_.at(number); }
  // Detaches it; its final counters.
  PortStats RemovePort(uint32_t number);

  // Returns the flow's id.
  uint64_t AddFlow(const Match& match, ActionList actions, uint16_t priority = 100);
  uint64_t AddFlowTo(uint8_t table_id, const Match& match, ActionList actions, uint16_t priority = 100);
  // Returns the final counters.
  FlowStats DeleteFlow(uint64_t id);
  FlowStats StatsOf(uint64_t id) const;

  // Rounds of all workers, one after another, until none moves a frame.
  void Run();
  // Delivers to a port and runs.
  void Receive(uint32_t port_number, std::vector<Bytes> frames);

  // Has the first worker carry it out meanwhile.
  absl::StatusOr<Dataplane::Sent> Send(const Bytes& bytes, uint32_t in_port, ActionList actions);

  uint64_t Drops(DropReason reason) const;
  // Received = forwarded + drops, read while anything may happen.
  bool Conserves() const;

  Engine& engine() { return *engine_; }
  FlowTable& flows() { return *flows_; }

 private:
  std::map<uint32_t, std::unique_ptr<MemoryPort>> ports_;
  std::unique_ptr<Reclaimer> reclaimer_;
  std::unique_ptr<FlowTable> flows_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace sluice
