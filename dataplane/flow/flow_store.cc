#include "dataplane/flow/flow_store.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "dataplane/classifier/interest.h"
#include "dataplane/flow/flow_explanation.h"

namespace sluice {
namespace {

constexpr size_t kEntryStep = 32;

// In steps. An entry with up to two words is one cache line.
constexpr size_t EntrySize(size_t word_count) {
  const size_t bytes = sizeof(ClassifierEntry) + word_count * sizeof(uint64_t);
  return std::max<size_t>(2, (bytes + kEntryStep - 1) / kEntryStep);
}
static_assert(EntrySize(kKeyWords + 1) < kEntrySizes);

bool HasPriority(const Subtable& subtable, uint16_t priority) {
  const auto& ranks = subtable.standing.ranks;
  const auto lowest = ranks.lower_bound(RankOf(priority, kMaxSequence));
  return lowest != ranks.end() && PriorityOf(*lowest) == priority;
}

void Include(PacketKey& all, const PacketKey& mask) {
  for (size_t i = 0; i < kKeyWords; ++i) SetWord(all, i, WordOf(all, i) | WordOf(mask, i));
}

}  // namespace

bool Waste::empty() const {
  return flows.empty() && std::ranges::all_of(entries, [](const auto& list) { return list.empty(); });
}

FlowStore::FlowStore(unsigned worker_count, const FlowTableLimits& limits, const HashKey& hash_key,
                     const ClassifierOptions& options, FlowTime now)
    : limits_(limits),
      hash_key_(hash_key),
      options_(options),
      pools_(worker_count),
      timers_(now),
      flow_slab_(sizeof(Flow)),
      version_(classifier_.version() + 1) {
  for (size_t i = 0; i < entry_slabs_.size(); ++i) entry_slabs_[i] = std::make_unique<Slab>(kEntryStep * i);
  Use(ObtainTable(0));
}

FlowStore::~FlowStore() {
  Free(TakeWaste());
  for (const auto& [id, flow] : flows_) {
    FreeEntry(flow->entry, EntrySize(flow->subtable->word_count()));
    FreeFlow(flow);
  }
}

Flow* FlowStore::Find(const FlowIdentity& identity) const {
  const ClassifierTable* table = tables_[identity.table_id].get();
  const Subtable* subtable = table == nullptr ? nullptr : table->Find(identity.match.mask);
  if (subtable == nullptr) return nullptr;
  const ClassifierEntry* entry = subtable->FindAlive(identity.match, identity.priority);
  return entry == nullptr ? nullptr : entry->flow();
}

absl::StatusOr<Flow*> FlowStore::Resolve(const FlowKey& key) const {
  if (const auto* id = std::get_if<uint64_t>(&key)) {
    const auto found = flows_.find(*id);
    if (found == flows_.end()) return absl::NotFoundError(absl::StrCat("no flow with id ", *id));
    return found->second;
  }
  const FlowIdentity& identity = std::get<FlowIdentity>(key);
  Flow* flow = Find(identity);
  if (flow != nullptr) return flow;
  return absl::NotFoundError(
      absl::StrCat("no flow in table ", identity.table_id, " with priority ", identity.priority, " and this match"));
}

Flow* FlowStore::FindOverlap(const FlowIdentity& identity) const {
  const ClassifierTable* table = tables_[identity.table_id].get();
  if (table == nullptr) return nullptr;
  const ClassifierEntry* oldest = nullptr;
  table->ForEachSubtable([&](const Subtable& subtable) {
    if (!HasPriority(subtable, identity.priority)) return;
    subtable.ForEachAlive([&](const ClassifierEntry& entry) {
      if (PriorityOf(entry.rank) != identity.priority || (oldest != nullptr && entry.rank < oldest->rank)) return;
      if (Overlap(subtable.Unpack(entry.words()), identity.match)) oldest = &entry;
    });
  });
  return oldest == nullptr ? nullptr : oldest->flow();
}

absl::Status FlowStore::RoomFor(uint8_t table_id, const PacketKey& mask) const {
  if (flows_.size() >= limits_.max_flows) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are as many flows as limits.flows allows: ", limits_.max_flows));
  }
  const ClassifierTable* table = tables_[table_id].get();
  if (table == nullptr || table->mask_count() < limits_.max_masks_per_table) return absl::OkStatus();
  const Subtable* subtable = table->Find(mask);
  if (subtable != nullptr && subtable->standing.flow_count > 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "table ", table_id, " has as many masks as limits.masks_per_table allows: ", limits_.max_masks_per_table));
}

Flow& FlowStore::Add(const FlowSpec& spec, FlowTime now) {
  ClassifierTable& table = ObtainTable(spec.table_id);
  Subtable& subtable = table.Obtain(spec.match.mask);
  Flow& flow = *new (flow_slab_.Allocate()) Flow;
  flow.index.pools = &pools_;
  flow.id = next_id_++;
  flow.cookie = spec.cookie;
  flow.subtable = &subtable;
  flow.created_unix_ns = now.unix_ns;
  const uint64_t rank = RankOf(spec.priority, next_sequence_++);
  flow.entry = NewEntry(flow, rank, spec.actions);
  subtable.Pack(spec.match, flow.entry->words());
  LinkEntry(flow.entry);
  subtable.standing.ranks.insert(rank);
  table.CountFlow(subtable);
  Include(looked_at_, LookedAt(subtable.mask()));
  classifier_.log().Add(spec.match.value, subtable.mask(), rank, version_, garbage_);
  flows_.emplace_hint(flows_.end(), flow.id, &flow);
  timers_.Start(flow, spec.timeouts, now);
  return flow;
}

void FlowStore::UndoAdd(Flow& flow) {
  Subtable& subtable = *flow.subtable;
  flows_.erase(flow.id);
  timers_.Stop(flow);
  subtable.standing.table.UncountFlow(subtable);
  subtable.standing.ranks.erase(flow.entry->rank);
  DropEntry(flow.entry);
  waste_.flows.push_back(&flow);
}

ClassifierEntry* FlowStore::Replace(Flow& flow, std::span<const Action> actions) {
  ClassifierEntry* old = flow.entry;
  flow.entry = NewEntry(flow, old->rank, actions);
  std::copy_n(old->words(), flow.subtable->word_count(), flow.entry->words());
  LinkEntry(flow.entry);
  old->removed.store(version_, std::memory_order_relaxed);
  return old;
}

void FlowStore::UndoReplace(Flow& flow, ClassifierEntry* old) {
  DropEntry(flow.entry);
  old->removed.store(kStays, std::memory_order_relaxed);
  flow.entry = old;
}

void FlowStore::Remove(Flow& flow) {
  flow.entry->removed.store(version_, std::memory_order_relaxed);
  flow.subtable->standing.table.UncountFlow(*flow.subtable);
  flows_.erase(flow.id);
}

void FlowStore::UndoRemove(Flow& flow) {
  flow.entry->removed.store(kStays, std::memory_order_relaxed);
  flow.subtable->standing.table.CountFlow(*flow.subtable);
  flows_.emplace(flow.id, &flow);
}

void FlowStore::Publish() {
  for (const Subtable* subtable : touched_) Use(subtable->standing.table);
  Settle();
  PublishInterest();
  classifier_.Publish(version_++);
}

void FlowStore::PublishInterest() {
  const Interest& interest = classifier_.interest();
  const bool rewrites = actions_.rewriting() > 0;
  if (interest.mask == looked_at_ && (interest.rewrites || !rewrites)) return;
  garbage_.Add(classifier_.SetInterest(std::make_unique<Interest>(looked_at_, rewrites, HashKey::Random())));
}

void FlowStore::ShrinkInterest() {
  if (!std::exchange(masks_have_gone_, false)) return;
  looked_at_ = {};
  for (const auto& table : tables_) {
    if (table != nullptr)
      table->ForEachSubtable([&](const Subtable& subtable) { Include(looked_at_, LookedAt(subtable.mask())); });
  }
  PublishInterest();
}

void FlowStore::Settle() {
  masks_have_gone_ |= std::ranges::any_of(touched_, [](const Subtable* subtable) { return subtable->linked() == 0; });
  for (Subtable* subtable : touched_) subtable->PublishIndexes(garbage_);
  // The subtables that go are waste, and still there for the last loop.
  for (Subtable* subtable : touched_) subtable->standing.table.Settle(*subtable, garbage_);
  for (const Subtable* subtable : touched_) subtable->standing.table.PublishOrder(garbage_);
  touched_.clear();
}

void FlowStore::SetOptions(const ClassifierOptions& options) {
  options_ = options;
  for (const auto& table : tables_) {
    if (table != nullptr) table->SetOptions(options, garbage_);
  }
  // What was answered by the old options is not remembered.
  classifier_.log().RaiseHorizon(version_);
  classifier_.Publish(version_++);
}

void FlowStore::Resort() {
  for (const auto& table : tables_) {
    if (table != nullptr) table->Resort(garbage_);
  }
}

void FlowStore::Unlink(const Retired& retired) {
  UnlinkEntry(retired.entry);
  if (!retired.flow_gone) return;
  Flow* flow = retired.entry->flow();
  flow->subtable->standing.ranks.erase(retired.entry->rank);
  timers_.Stop(*flow);
  waste_.flows.push_back(flow);
}

Waste FlowStore::TakeWaste() {
  waste_.version = classifier_.version();
  return std::exchange(waste_, {});
}

void FlowStore::Free(const Waste& waste) {
  for (size_t size = 0; size < kEntrySizes; ++size) {
    for (ClassifierEntry* entry : waste.entries[size]) FreeEntry(entry, size);
  }
  for (Flow* flow : waste.flows) FreeFlow(flow);
}

void FlowStore::Describe(const Flow& flow, FlowInfo& info) const {
  const Subtable& subtable = *flow.subtable;
  const auto actions = flow.entry->actions->actions();
  info.id = flow.id;
  info.spec.table_id = subtable.standing.table.id();
  info.spec.priority = PriorityOf(flow.entry->rank);
  info.spec.match = subtable.Unpack(flow.entry->words());
  info.spec.actions.assign(actions.begin(), actions.end());
  info.spec.cookie = flow.cookie;
  info.stats = Sum(flow.index, flow.counters);
  info.create_time = absl::FromUnixNanos(flow.created_unix_ns);
  const FlowTimes times = timers_.Of(flow);
  info.spec.timeouts = times.timeouts;
  if (times.timeouts.any()) info.modify_time = absl::FromUnixNanos(times.modified_unix_ns);
}

TableInfo FlowStore::Info(uint8_t table_id) const {
  TableInfo info{.id = table_id};
  if (table(table_id) != nullptr) info = table(table_id)->Info();
  info.miss_policy = classifier_.miss_policy(table_id);
  return info;
}

FlowExplanation FlowStore::Explain(uint8_t table_id, const PacketKey& key) const {
  FlowExplanation explanation{.miss_policy = classifier_.miss_policy(table_id)};
  if (table(table_id) == nullptr) return explanation;
  ClassifierTable::Explanation found = table(table_id)->Explain(key);
  explanation.masks = std::move(found.masks);
  if (!found.entries.empty()) explanation.winner = found.entries.front();
  const size_t described = std::min(found.entries.size(), FlowExplanation::kMostFlows);
  for (size_t i = 0; i < described; ++i) Describe(*found.entries[i]->flow(), explanation.flows.emplace_back());
  explanation.left_out = found.entries.size() - described;
  return explanation;
}

void FlowStore::SetMissPolicy(uint8_t table_id, MissPolicy policy) {
  Use(ObtainTable(table_id));
  classifier_.SetMissPolicy(table_id, policy);
}

void FlowStore::Use(ClassifierTable& table) {
  if (in_use_[table.id()]) return;
  classifier_.AddTable(table.id(), &table);
  in_use_.set(table.id());
}

ClassifierTable& FlowStore::ObtainTable(uint8_t id) {
  if (tables_[id] == nullptr) {
    tables_[id] = std::make_unique<ClassifierTable>(id, hash_key_, pools_.worker_count(), options_);
  }
  return *tables_[id];
}

ClassifierEntry* FlowStore::NewEntry(Flow& flow, uint64_t rank, std::span<const Action> actions) {
  void* memory = entry_slabs_[EntrySize(flow.subtable->word_count())]->Allocate();
  return new (memory) ClassifierEntry(version_, rank, &flow, actions_.Acquire(actions));
}

void FlowStore::LinkEntry(ClassifierEntry* entry) {
  Subtable& subtable = *entry->flow()->subtable;
  subtable.standing.table.Link(subtable, entry, garbage_);
  Touch(subtable);
}

// An entry that no version will have: workers may pass over it but never stay.
void FlowStore::DropEntry(ClassifierEntry* entry) {
  entry->removed.store(entry->added, std::memory_order_relaxed);
  UnlinkEntry(entry);
}

void FlowStore::UnlinkEntry(ClassifierEntry* entry) {
  Subtable& subtable = *entry->flow()->subtable;
  subtable.standing.table.Unlink(subtable, entry, garbage_);
  Touch(subtable);
  waste_.entries[EntrySize(subtable.word_count())].push_back(entry);
}

void FlowStore::FreeEntry(ClassifierEntry* entry, size_t size) {
  actions_.Release(entry->actions);
  entry_slabs_[size]->Free(entry);
}

void FlowStore::FreeFlow(Flow* flow) {
  pools_.Free(flow->index);
  flow_slab_.Free(flow);
}

void FlowStore::Touch(Subtable& subtable) {
  if (std::exchange(subtable.standing.unsettled, true)) return;
  touched_.push_back(&subtable);
}

}  // namespace sluice
