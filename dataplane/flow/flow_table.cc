#include "dataplane/flow/flow_table.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "dataplane/classifier/hash.h"
#include "dataplane/flow/batch.h"
#include "dataplane/flow/flow_events.h"
#include "dataplane/flow/flow_explanation.h"
#include "dataplane/flow/flow_filter.h"
#include "dataplane/flow/flow_store.h"
#include "dataplane/worker/reclaimer.h"

namespace sluice {
namespace {

// What is done under the lock at a time by those who have much to do.
constexpr size_t kFlowsAtOnce = 1000;

// For how long what is removed may be remembered by flow caches: answers that
// were not asked for since are lost to them with the next change.
constexpr absl::Duration kMemory = absl::Milliseconds(500);

// Rounds of kFlowsAtOnce in which Housekeep looks for flows to expire.
constexpr int kExpiryRounds = 16;

// What waits for the grace period after a version.
struct Aftermath {
  std::vector<Retired> retired;
  uint64_t commit = 0;  // not 0: the flows that go are described as its events
  std::function<void(uint32_t item, const FlowStats& last)> on_final;
  std::function<void()> finish;
};

std::vector<FlowEvent> EventsOf(const std::vector<FlowChangeResult>& results) {
  std::vector<FlowEvent> events;
  for (const FlowChangeResult& result : results) {
    if (!result.status.ok()) continue;
    const FlowEventKind kind = result.removed   ? FlowEventKind::kRemoved
                               : result.created ? FlowEventKind::kCreated
                                                : FlowEventKind::kModified;
    events.push_back({.kind = kind, .reason = FlowRemoval::kDelete, .flow = result.flow});
  }
  return events;
}

// A mutex that whoever takes it again and again can't keep others from: the next
// in line waits at the door, and nobody passes it there.
//
// Not absl::Mutex: ThreadSanitizer does not see into the distribution's.
class FairMutex {
 public:
  void lock() {
    std::lock_guard next(door_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex door_;
  std::mutex mutex_;
};

}  // namespace

class FlowTable::Impl {
 public:
  Impl(unsigned worker_count, const FlowTableLimits& limits, Reclaimer& reclaimer, const HashKey& hash_key,
       const ClassifierOptions& options, FlowClock clock)
      : clock_(std::move(clock)),
        store_(worker_count, limits, hash_key, options, clock_()),
        events_(limits.kept_events),
        limits_(limits),
        reclaimer_(reclaimer),
        classifier_(store_.classifier()) {}
  ~Impl() {
    reclaimer_.Flush();
    for (const Remembered& remembered : remembered_) store_.Free(remembered.waste);
  }

  void Write(std::span<const FlowChange> changes, BatchMode mode, bool validate_only, Done done);
  void DeleteMatching(const FlowFilter& filter, std::function<void(DeletedSum)> done);
  std::vector<FlowInfo> List(const FlowFilter& filter, uint64_t after_id, size_t limit) const;
  Page ListPage(const FlowFilter& filter, uint64_t after_id, uint64_t last_id) const;
  WatchStart StartWatch();
  void EndWatch();
  FlowEvents& events() { return events_; }
  std::array<uint64_t, kFlowRemovalCount> removals() const;

  void SetOptions(const ClassifierOptions& options);
  void Resort();

  template <typename Fn>
  auto WithStore(Fn fn) const {
    std::lock_guard lock(mutex_);
    return fn(const_cast<FlowStore&>(store_));
  }
  void Housekeep();
  const FlowTableLimits& limits() const { return limits_; }
  Classifier& classifier() { return classifier_; }

 private:
  std::vector<Retired> Carry(std::span<const FlowChange> changes, BatchMode mode, bool validate_only,
                             std::vector<FlowChangeResult>& results);  // locked
  uint64_t CommitOf(const std::vector<FlowChangeResult>& results);     // locked
  void Leave(std::shared_ptr<Aftermath> aftermath);
  void RemoveAll(std::shared_ptr<Aftermath> aftermath);  // locked
  bool Expire();
  void Tidy();
  void Reclaim(Aftermath& aftermath);
  void HandOverWaste();  // locked
  void FreeForgotten();  // locked

  struct Remembered {
    absl::Time since;
    Waste waste;
  };

  const FlowClock clock_;
  mutable FairMutex mutex_;  // guards what follows
  FlowStore store_;
  FlowEvents events_;
  std::array<uint64_t, kFlowRemovalCount> removals_{};
  std::deque<Remembered> remembered_;
  absl::Time shrunk_ = absl::InfinitePast();
  absl::Time resorted_ = absl::Now();
  const FlowTableLimits limits_;
  Reclaimer& reclaimer_;
  Classifier& classifier_;
};

void FlowTable::Impl::Write(std::span<const FlowChange> changes, BatchMode mode, bool validate_only, Done done) {
  auto results = std::make_shared<std::vector<FlowChangeResult>>();
  auto aftermath = std::make_shared<Aftermath>();
  bool wait = false;
  {
    std::lock_guard lock(mutex_);
    aftermath->retired = Carry(changes, mode, validate_only, *results);
    wait = std::ranges::any_of(aftermath->retired, &Retired::flow_gone);
    const uint64_t commit = validate_only ? 0 : CommitOf(*results);
    if (wait) {
      aftermath->on_final = [results](uint32_t item, const FlowStats& last) { (*results)[item].flow.stats = last; };
      aftermath->finish = [this, results, commit, done] {
        if (commit != 0) events_.Publish(EventsOf(*results), commit, /*complete=*/true);
        done(std::move(*results));
      };
    } else if (commit != 0) {
      aftermath->finish = [this, events = EventsOf(*results), commit] { events_.Publish(events, commit, true); };
    }
    HandOverWaste();
    Leave(std::move(aftermath));
  }
  if (!wait) done(std::move(*results));
}

// The number under which the changes become events; 0 if none is kept.
uint64_t FlowTable::Impl::CommitOf(const std::vector<FlowChangeResult>& results) {
  const auto changed = static_cast<uint64_t>(
      std::ranges::count_if(results, [](const FlowChangeResult& result) { return result.status.ok(); }));
  for (const FlowChangeResult& result : results) removals_[static_cast<size_t>(FlowRemoval::kDelete)] += result.removed;
  if (changed > 0 && events_.kept()) return events_.NextCommit();
  if (changed > 0) events_.Pass(changed);
  return 0;
}

// Carries the changes out, or not; each gets its result.
std::vector<Retired> FlowTable::Impl::Carry(std::span<const FlowChange> changes, BatchMode mode, bool validate_only,
                                            std::vector<FlowChangeResult>& results) {
  const uint64_t first_new_id = store_.next_id();
  Batch batch(store_, clock_());
  bool failed = false;
  results.reserve(changes.size());
  for (const FlowChange& change : changes) {
    FlowChangeResult& result = results.emplace_back();
    batch.Apply(change, static_cast<uint32_t>(results.size() - 1), result);
    failed |= !result.status.ok();
  }
  const bool abort = failed && mode == BatchMode::kAllOrNothing;
  if (!abort && !validate_only) return batch.Commit();
  batch.Undo();
  for (FlowChangeResult& result : results) {
    if (abort && result.status.ok()) result = {.status = absl::AbortedError("another item of the batch failed")};
    if (result.flow.id >= first_new_id) result.flow.id = 0;
    if (result.other_id >= first_new_id) result.other_id = 0;
  }
  return {};
}

void FlowTable::Impl::DeleteMatching(const FlowFilter& filter, std::function<void(DeletedSum)> done) {
  auto sum = std::make_shared<DeletedSum>();
  {
    std::lock_guard lock(mutex_);
    auto aftermath = std::make_shared<Aftermath>();
    for (const auto& [id, flow] : store_.flows()) {
      if (Selects(filter, *flow)) aftermath->retired.push_back({flow->entry, true, 0});
    }
    sum->count = aftermath->retired.size();
    aftermath->on_final = [sum](uint32_t, const FlowStats& last) {
      sum->stats.packets += last.packets;
      sum->stats.bytes += last.bytes;
      sum->stats.last_used = std::max(sum->stats.last_used, last.last_used);
    };
    aftermath->finish = [sum, done] { done(*sum); };
    if (sum->count > 0) return RemoveAll(std::move(aftermath));
  }
  done(*sum);
}

// In one instant; each flow is alive.
void FlowTable::Impl::RemoveAll(std::shared_ptr<Aftermath> aftermath) {
  for (const Retired& retired : aftermath->retired) {
    store_.Remove(*retired.entry->flow());
    ++removals_[static_cast<size_t>(retired.reason)];
  }
  store_.Publish();
  if (events_.kept()) {
    aftermath->commit = events_.NextCommit();
  } else {
    events_.Pass(aftermath->retired.size());
  }
  HandOverWaste();
  Leave(std::move(aftermath));
}

// A step of what timeouts ask for. True: there may be more to do.
bool FlowTable::Impl::Expire() {
  const FlowTime now = clock_();
  std::vector<ExpiredFlow> expired;
  std::lock_guard lock(mutex_);
  const bool all = store_.timers().TakeDue(now, kFlowsAtOnce, expired);
  if (expired.empty()) return !all;
  auto aftermath = std::make_shared<Aftermath>();
  for (const ExpiredFlow& flow : expired) {
    const FlowRemoval reason = flow.hard ? FlowRemoval::kHardTimeout : FlowRemoval::kIdleTimeout;
    aftermath->retired.push_back({flow.flow->entry, true, 0, reason});
  }
  RemoveAll(std::move(aftermath));
  return !all;
}

// What the version removed is unlinked a grace period from now.
void FlowTable::Impl::Leave(std::shared_ptr<Aftermath> aftermath) {
  if (aftermath->retired.empty() && !aftermath->finish) return;
  reclaimer_.AfterGrace([this, aftermath = std::move(aftermath)] { Reclaim(*aftermath); });
}

void FlowTable::Impl::Reclaim(Aftermath& aftermath) {
  // The newest first: of the many entries that a batch may give one flow, those
  // stand first in their chain.
  std::vector<Retired>& retired = aftermath.retired;
  while (!retired.empty()) {
    std::vector<FlowEvent> events;
    {
      std::lock_guard lock(mutex_);
      for (size_t i = 0; i < kFlowsAtOnce && !retired.empty(); ++i) {
        const Retired last = retired.back();
        retired.pop_back();
        const Flow& flow = *last.entry->flow();
        if (last.flow_gone && aftermath.on_final) aftermath.on_final(last.item, Sum(flow.index, flow.counters));
        if (aftermath.commit != 0) {
          events.push_back({.kind = FlowEventKind::kRemoved, .reason = last.reason});
          store_.Describe(flow, events.back().flow);
        }
        store_.Unlink(last);
      }
      store_.Settle();
      HandOverWaste();
    }
    if (aftermath.commit != 0) events_.Publish(std::move(events), aftermath.commit, retired.empty());
  }
  if (aftermath.finish) aftermath.finish();
}

// Garbage goes after a grace period. Flow caches may know the rest, which waits
// for the horizon first.
void FlowTable::Impl::HandOverWaste() {
  auto garbage = std::make_shared<Garbage>(store_.TakeGarbage());
  if (!garbage->empty()) reclaimer_.AfterGrace([garbage] {});
  Waste waste = store_.TakeWaste();
  if (!waste.empty()) remembered_.push_back({absl::Now(), std::move(waste)});
  FreeForgotten();
}

void FlowTable::Impl::FreeForgotten() {
  std::vector<Waste> forgotten;
  while (!remembered_.empty() && remembered_.front().waste.version <= classifier_.log().horizon()) {
    forgotten.push_back(std::move(remembered_.front().waste));
    remembered_.pop_front();
  }
  if (forgotten.empty()) return;
  reclaimer_.AfterGrace([this, forgotten = std::make_shared<std::vector<Waste>>(std::move(forgotten))] {
    for (const Waste& waste : *forgotten) {
      std::lock_guard lock(mutex_);
      store_.Free(waste);
    }
  });
}

void FlowTable::Impl::Housekeep() {
  Tidy();
  for (int round = 0; round < kExpiryRounds && Expire(); ++round) {
  }
}

void FlowTable::Impl::Tidy() {
  std::lock_guard lock(mutex_);
  events_.Forget(clock_());
  store_.pools().Refill();
  const absl::Time now = absl::Now();
  for (const Remembered& remembered : remembered_) {
    if (now - remembered.since < kMemory) break;
    classifier_.log().RaiseHorizon(remembered.waste.version);
  }
  if (now - shrunk_ > kMemory) {
    shrunk_ = now;
    store_.ShrinkInterest();
  }
  const absl::Duration period = store_.options().resort_period;
  if (period > absl::ZeroDuration() && now - resorted_ >= period) {
    resorted_ = now;
    store_.Resort();
  }
  HandOverWaste();
}

FlowTable::Page FlowTable::Impl::ListPage(const FlowFilter& filter, uint64_t after_id, uint64_t last_id) const {
  Page page;
  std::lock_guard lock(mutex_);
  auto next = store_.flows().upper_bound(after_id);
  const auto end = store_.flows().upper_bound(std::max(after_id, last_id));
  for (size_t i = 0; i < kFlowsAtOnce && next != end; ++i, ++next) {
    page.examined = next->first;
    if (Selects(filter, *next->second)) store_.Describe(*next->second, page.flows.emplace_back());
  }
  if (next == end) page.examined = ~uint64_t{0};
  page.commit = events_.last_commit();
  return page;
}

FlowTable::WatchStart FlowTable::Impl::StartWatch() {
  std::lock_guard lock(mutex_);
  events_.AddWatcher();
  return {.sequence = events_.last(), .commit = events_.last_commit(), .flow_id = store_.next_id() - 1};
}

void FlowTable::Impl::EndWatch() {
  std::lock_guard lock(mutex_);
  events_.RemoveWatcher(clock_());
}

std::array<uint64_t, kFlowRemovalCount> FlowTable::Impl::removals() const {
  std::lock_guard lock(mutex_);
  return removals_;
}

std::vector<FlowInfo> FlowTable::Impl::List(const FlowFilter& filter, uint64_t after_id, size_t limit) const {
  std::vector<FlowInfo> flows;
  bool more = limit > 0;
  while (more) {
    std::lock_guard lock(mutex_);
    auto next = store_.flows().upper_bound(after_id);
    for (size_t i = 0; i < kFlowsAtOnce && next != store_.flows().end() && flows.size() < limit; ++i, ++next) {
      after_id = next->first;
      if (Selects(filter, *next->second)) store_.Describe(*next->second, flows.emplace_back());
    }
    more = next != store_.flows().end() && flows.size() < limit;
  }
  return flows;
}

void FlowTable::Impl::SetOptions(const ClassifierOptions& options) {
  std::lock_guard lock(mutex_);
  store_.SetOptions(options);
  HandOverWaste();
}

void FlowTable::Impl::Resort() {
  std::lock_guard lock(mutex_);
  resorted_ = absl::Now();
  store_.Resort();
  HandOverWaste();
}

FlowTable::FlowTable(unsigned worker_count, FlowTableLimits limits, Reclaimer& reclaimer,
                     const ClassifierOptions& options)
    : FlowTable(worker_count, limits, reclaimer, HashKey::Random(), options) {}

FlowTable::FlowTable(unsigned worker_count, FlowTableLimits limits, Reclaimer& reclaimer, const HashKey& hash_key,
                     const ClassifierOptions& options, FlowClock clock)
    : impl_(std::make_unique<Impl>(worker_count, limits, reclaimer, hash_key, options, std::move(clock))) {}

FlowTable::~FlowTable() = default;

void FlowTable::Write(std::span<const FlowChange> changes, BatchMode mode, bool validate_only, Done done) {
  impl_->Write(changes, mode, validate_only, std::move(done));
}

void FlowTable::DeleteMatching(const FlowFilter& filter, std::function<void(DeletedSum)> done) {
  impl_->DeleteMatching(filter, std::move(done));
}

absl::StatusOr<FlowInfo> FlowTable::Get(const FlowKey& key) const {
  return impl_->WithStore([&](FlowStore& store) -> absl::StatusOr<FlowInfo> {
    absl::StatusOr<Flow*> flow = store.Resolve(key);
    if (!flow.ok()) return std::move(flow).status();
    FlowInfo info;
    store.Describe(**flow, info);
    return info;
  });
}

std::vector<FlowInfo> FlowTable::List(const FlowFilter& filter, uint64_t after_id, size_t limit) const {
  return impl_->List(filter, after_id, limit);
}

FlowTable::Page FlowTable::ListPage(const FlowFilter& filter, uint64_t after_id, uint64_t last_id) const {
  return impl_->ListPage(filter, after_id, last_id);
}
FlowTable::WatchStart FlowTable::StartWatch() { return impl_->StartWatch(); }
void FlowTable::EndWatch() { impl_->EndWatch(); }
FlowEvents& FlowTable::events() { return impl_->events(); }
std::array<uint64_t, kFlowRemovalCount> FlowTable::removals() const { return impl_->removals(); }

uint64_t FlowTable::size() const {
  return impl_->WithStore([](FlowStore& store) { return store.flows().size(); });
}

std::vector<TableInfo> FlowTable::Tables() const {
  return impl_->WithStore([](FlowStore& store) {
    std::vector<TableInfo> tables;
    for (unsigned id = 0; id < 256; ++id) {
      if (store.table(static_cast<uint8_t>(id)) != nullptr) tables.push_back(store.Info(static_cast<uint8_t>(id)));
    }
    return tables;
  });
}

TableInfo FlowTable::Table(uint8_t table_id) const {
  return impl_->WithStore([table_id](FlowStore& store) { return store.Info(table_id); });
}

void FlowTable::SetMissPolicy(uint8_t table_id, MissPolicy policy) {
  impl_->WithStore([&](FlowStore& store) { store.SetMissPolicy(table_id, policy); });
}

std::vector<MaskInfo> FlowTable::Masks(uint8_t table_id) const {
  return impl_->WithStore([table_id](FlowStore& store) {
    const ClassifierTable* table = store.table(table_id);
    return table == nullptr ? std::vector<MaskInfo>() : table->Masks();
  });
}

void FlowTable::Explain(const std::function<void(const ExplainTable&)>& fn) const {
  impl_->WithStore([&](FlowStore& store) {
    fn([&store](uint8_t table_id, const PacketKey& key) { return store.Explain(table_id, key); });
  });
}

const FlowTableLimits& FlowTable::limits() const { return impl_->limits(); }

void FlowTable::Housekeep() { impl_->Housekeep(); }

void FlowTable::SetOptions(const ClassifierOptions& options) { impl_->SetOptions(options); }

ClassifierOptions FlowTable::options() const {
  return impl_->WithStore([](FlowStore& store) { return store.options(); });
}

void FlowTable::Resort() { impl_->Resort(); }

Classifier& FlowTable::classifier() { return impl_->classifier(); }

}  // namespace sluice
