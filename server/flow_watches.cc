#include "server/flow_watches.h"

#include <pthread.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

absl::Status Ending() { return absl::UnavailableError("the switch is ending"); }

}  // namespace

FlowWatches::FlowWatches(FlowTable& flows, uint32_t limit, std::string boot_id)
    : flows_(flows), limit_(limit), boot_id_(std::move(boot_id)), thread_([this] { Run(); }) {
  flows_.events().SetListener([this] { Wake(); });
}

FlowWatches::~FlowWatches() {
  Close();
  flows_.events().SetListener(nullptr);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_up_.notify_one();
  thread_.join();
}

absl::Status FlowWatches::Open(const v1::WatchFlowsRequest& request, WatchSink* sink) {
  absl::StatusOr<std::unique_ptr<FlowWatch>> watch = FlowWatch::Start(flows_, boot_id_, request);
  if (!watch.ok()) return watch.status();
  const std::lock_guard lock(mutex_);  // after the watch, which must not go under it
  if (closed_) return Ending();
  if (entries_.size() >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are as many watchers of flows as limits.watchers allows: ", limit_));
  }
  entries_[sink].watch = *std::move(watch);
  woken_ = true;
  woken_up_.notify_one();
  return absl::OkStatus();
}

void FlowWatches::WriteDone(WatchSink* sink, bool ok) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(sink);
  entry.writing = false;
  entry.cancelled |= !ok;
  woken_ = true;
  woken_up_.notify_one();
}

void FlowWatches::Cancel(WatchSink* sink) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sink);
  if (found == entries_.end()) return;
  found->second.cancelled = true;
  woken_ = true;
  woken_up_.notify_one();
}

void FlowWatches::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  woken_ = true;
  woken_up_.notify_one();
}

void FlowWatches::Wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  woken_up_.notify_one();
}

uint64_t FlowWatches::open() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

uint64_t FlowWatches::missed() const { return missed_.load(std::memory_order_relaxed); }

void FlowWatches::Run() {
  pthread_setname_np(pthread_self(), "watches");
  std::unique_lock lock(mutex_);
  for (;;) {
    woken_up_.wait(lock, [this] { return woken_ || (stop_ && entries_.empty()); });
    if (stop_ && entries_.empty()) return;
    woken_ = false;
    std::vector<WatchSink*> ready;
    for (const auto& [sink, entry] : entries_) {
      if (!entry.writing) ready.push_back(sink);
    }
    for (WatchSink* sink : ready) Serve(sink, lock);
  }
}

// A message, if there is one. Without the lock where that may take a while.
void FlowWatches::Serve(WatchSink* sink, std::unique_lock<std::mutex>& lock) {
  Entry& entry = entries_.at(sink);
  if (entry.cancelled || closed_) return End(sink, lock);
  lock.unlock();
  const bool ready = entry.watch->Next(&entry.message);
  missed_.fetch_add(entry.watch->missed() - std::exchange(entry.missed, entry.watch->missed()),
                    std::memory_order_relaxed);
  lock.lock();
  if (entry.cancelled || closed_) return End(sink, lock);
  if (!ready) {
    woken_ |= entry.watch->behind();
    return;
  }
  entry.writing = true;
  lock.unlock();
  sink->Write(entry.message);
  lock.lock();
}

void FlowWatches::End(WatchSink* sink, std::unique_lock<std::mutex>& lock) {
  const absl::Status status = closed_ ? Ending() : absl::CancelledError("the client ended the watch");
  auto node = entries_.extract(sink);
  lock.unlock();
  node.mapped().watch.reset();
  sink->Finish(status);
  lock.lock();
}

}  // namespace sluice
