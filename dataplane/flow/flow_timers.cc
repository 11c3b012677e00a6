#include "dataplane/flow/flow_timers.h"

#include <algorithm>
#include <limits>

#include "absl/time/time.h"
#include "dataplane/classifier/entry.h"
#include "dataplane/flow/flow_table.h"

namespace sluice {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// By how much the clocks of workers and of this thread may differ.
constexpr int64_t kClockSlack = kSecond / 10;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// A turn holds the longest timeout.
static_assert(TimingWheel::kSlots * FlowTimers::kTick > uint64_t{65535} * kSecond);

int64_t LastUsed(const Flow& flow) {
  const absl::Time last = Sum(flow.index, flow.counters).last_used;
  return last == absl::InfinitePast() ? 0 : absl::ToUnixNanos(last);
}

int64_t IdleDeadline(const FlowTimes& times) {
  return times.timeouts.idle == 0 ? kNever : times.idle_since_ns + times.timeouts.idle * kSecond;
}

int64_t HardDeadline(const FlowTimes& times) {
  return times.timeouts.hard == 0 ? kNever : times.modified_ns + times.timeouts.hard * kSecond;
}

}  // namespace

void FlowTimers::Start(Flow& flow, FlowTimeouts timeouts, FlowTime now) {
  if (!timeouts.any()) return;
  Set(flow, {.timeouts = timeouts,
             .modified_unix_ns = now.unix_ns,
             .modified_ns = now.steady_ns,
             .idle_since_ns = now.steady_ns,
             .looked_ns = now.steady_ns});
}

FlowTimes FlowTimers::Change(Flow& flow, FlowTimeouts timeouts, bool restart_idle, FlowTime now) {
  const FlowTimes before = Of(flow);
  FlowTimes times = before;
  times.timeouts = timeouts;
  times.modified_unix_ns = now.unix_ns;
  times.modified_ns = now.steady_ns;
  if (restart_idle || !before.timeouts.any()) {
    times.idle_since_ns = times.looked_ns = now.steady_ns;
    times.seen_unix_ns = LastUsed(flow);
  }
  Set(flow, times);
  return before;
}

void FlowTimers::Restore(Flow& flow, const FlowTimes& before) { Set(flow, before); }

void FlowTimers::Set(Flow& flow, const FlowTimes& times) {
  if (!times.timeouts.any()) return Stop(flow);
  if (flow.timer == 0 && free_.empty()) {
    flow.timer = static_cast<uint32_t>(timers_.size());
    timers_.emplace_back();
  } else if (flow.timer == 0) {
    flow.timer = free_.back();
    free_.pop_back();
  }
  timers_[flow.timer] = {&flow, times};
  File(flow.timer);
}

void FlowTimers::Stop(Flow& flow) {
  if (flow.timer == 0) return;
  wheel_.Unfile(flow.timer);
  timers_[flow.timer] = {};
  free_.push_back(flow.timer);
  flow.timer = 0;
}

void FlowTimers::File(TimingWheel::Item item) {
  const FlowTimes& times = timers_[item].times;
  const int64_t deadline = std::min(IdleDeadline(times), HardDeadline(times));
  wheel_.File(item, TickAt(deadline + kTick - 1));
}

// Moves idle_since on if the flow was used since the last time.
void FlowTimers::Look(Timer& timer, FlowTime now) {
  FlowTimes& times = timer.times;
  const int64_t used = LastUsed(*timer.flow);
  if (used != times.seen_unix_ns) {
    const int64_t age = now.unix_ns - used;
    const bool plausible = age >= 0 && age <= now.steady_ns - times.looked_ns + kClockSlack;
    times.idle_since_ns = std::max(times.idle_since_ns, now.steady_ns - (plausible ? age : 0));
    times.seen_unix_ns = used;
  }
  times.looked_ns = now.steady_ns;
}

bool FlowTimers::TakeDue(FlowTime now, size_t most, std::vector<ExpiredFlow>& out) {
  due_.clear();
  const bool all = wheel_.Take(TickAt(now.steady_ns), most, due_);
  for (const TimingWheel::Item item : due_) {
    Timer& timer = timers_[item];
    if (!timer.flow->entry->Alive()) continue;
    Look(timer, now);
    const bool hard = HardDeadline(timer.times) <= now.steady_ns;
    if (hard || IdleDeadline(timer.times) <= now.steady_ns) {
      out.push_back({timer.flow, hard});
    } else {
      File(item);
    }
  }
  return all;
}

}  // namespace sluice
