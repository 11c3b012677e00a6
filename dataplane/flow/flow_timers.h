// The timeouts of flows that have some: what they are, since when they run, and
// which flows have passed theirs.
//
// As in Open vSwitch: hard_timeout counts from when the flow was created or last
// modified, idle_timeout from its last packet, or from when it was created or the
// timeout given, if that is later. A modification that does not name timeouts
// keeps them and does not restart the idle one. Past both, the hard one it was.
//
// A timer stands in a timing wheel for when its flow may expire at the earliest.
// Packets do not touch it: whether an idle flow was used meanwhile is looked up
// when its time comes, and it is filed anew. A flow goes not before its time and
// at most kTick after it, if TakeDue is called often enough.
//
// Packets are stamped with wall time, which people set. So the time of a use is
// believed as far as it lies between the last look at the flow and now; else the
// flow counts as used now.
//
// A flow without timeouts has no timer. One that was removed keeps its timer, for
// who describes it, until Stop. Threads: under the flow table's lock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "dataplane/flow/flow.h"
#include "dataplane/flow/flow_time.h"
#include "dataplane/flow/flow_timeouts.h"
#include "dataplane/flow/timing_wheel.h"

namespace sluice {

struct FlowTimes {
  FlowTimeouts timeouts{};  // none: no timer
  int64_t modified_unix_ns = 0;
  int64_t modified_ns = 0;  // steady, as those below
  int64_t idle_since_ns = 0;
  int64_t looked_ns = 0;     // when last_used was looked at
  int64_t seen_unix_ns = 0;  // what it was then
};

struct ExpiredFlow {
  Flow* flow;
  bool hard;  // else idle
};

class FlowTimers {
 public:
  static constexpr int64_t kTick = 250'000'000;  // ns

  explicit FlowTimers(FlowTime now) : wheel_(TickAt(now.steady_ns)) {}

  // Of a new flow.
  void Start(Flow& flow, FlowTimeouts timeouts, FlowTime now);
  // Of a flow that was modified; returns what was before.
  FlowTimes Change(Flow& flow, FlowTimeouts timeouts, bool restart_idle, FlowTime now);
  void Restore(Flow& flow, const FlowTimes& before);
  void Stop(Flow& flow);
  FlowTimes Of(const Flow& flow) const { return flow.timer == 0 ? FlowTimes{} : timers_[flow.timer].times; }
  // Flows that have a timer, those included that were removed and not stopped.
  size_t size() const { return timers_.size() - 1 - free_.size(); }

  // Looks at up to `most` flows whose time has come and adds those to `out` that
  // have passed a timeout and were not removed yet: the caller removes them now.
  // True: no more are due until the next tick.
  bool TakeDue(FlowTime now, size_t most, std::vector<ExpiredFlow>& out);

 private:
  struct Timer {
    Flow* flow = nullptr;
    FlowTimes times{};
  };

  static uint64_t TickAt(int64_t steady_ns) { return static_cast<uint64_t>(steady_ns / kTick); }
  void Set(Flow& flow, const FlowTimes& times);
  void File(TimingWheel::Item item);
  void Look(Timer& timer, FlowTime now);

  TimingWheel wheel_;
  std::deque<Timer> timers_ = std::deque<Timer>(1);  // by the number in the flow; 0 is none
  std::vector<uint32_t> free_;
  std::vector<TimingWheel::Item> due_;  // TakeDue's
};

}  // namespace sluice
