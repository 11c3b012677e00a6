#include "dataplane/flow/flow_events.h"

#include <algorithm>
#include <utility>

namespace sluice {

FlowEvents::Reading FlowEvents::After(uint64_t sequence, size_t most) const {
  const std::lock_guard lock(mutex_);
  const uint64_t before_first = last_ - ring_.size();
  Reading reading;
  if (sequence < before_first) reading.missed = before_first - sequence;
  const size_t begin = static_cast<size_t>(std::clamp(sequence, before_first, last_) - before_first);
  const size_t end = std::min(ring_.size(), begin + most);
  reading.events.assign(ring_.begin() + static_cast<std::ptrdiff_t>(begin),
                        ring_.begin() + static_cast<std::ptrdiff_t>(end));
  reading.sequence = before_first + end;
  reading.commit = end == ring_.size() ? published_ : ring_[end]->commit - 1;
  return reading;
}

void FlowEvents::SetListener(std::function<void()> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
}

uint64_t FlowEvents::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void FlowEvents::AddWatcher() {
  ++watchers_;
  if (std::exchange(kept_, true)) return;
  const std::lock_guard lock(mutex_);
  keep_ = true;
}

void FlowEvents::RemoveWatcher(FlowTime now) {
  --watchers_;
  left_ns_ = now.steady_ns;
}

void FlowEvents::Forget(FlowTime now) {
  if (!kept_ || watchers_ > 0 || now.steady_ns - left_ns_ < kMemory) return;
  kept_ = false;
  std::deque<std::shared_ptr<const FlowEvent>> forgotten;
  const std::lock_guard lock(mutex_);
  keep_ = false;
  forgotten.swap(ring_);
}

void FlowEvents::Pass(uint64_t count) {
  const std::lock_guard lock(mutex_);
  // What is kept may have no gaps.
  if (count > 0) ring_.clear();
  last_ += count;
}

void FlowEvents::Publish(std::vector<FlowEvent> events, uint64_t commit, bool complete) {
  std::vector<std::shared_ptr<FlowEvent>> ready;
  ready.reserve(events.size());
  for (FlowEvent& event : events) {
    ready.push_back(std::make_shared<FlowEvent>(std::move(event)));
    ready.back()->commit = commit;
  }
  const std::lock_guard lock(mutex_);
  for (std::shared_ptr<FlowEvent>& event : ready) {
    event->sequence = ++last_;
    if (!keep_) continue;
    if (ring_.size() == capacity_) ring_.pop_front();
    ring_.push_back(std::move(event));
  }
  if (complete) published_ = commit;
  if (listener_) listener_();
}

}  // namespace sluice
