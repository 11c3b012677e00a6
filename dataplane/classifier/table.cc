#include "dataplane/classifier/table.h"

#include <bit>

#include "dataplane/classifier/classifier.h"
#include "dataplane/flow/flow_table.h"

namespace sluice {
namespace {

// A counter that only this thread writes.
void AddOwn(std::atomic<uint64_t>& counter, uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

// Without those packets that already have a flow that no rank up to bound beats.
uint32_t StillLooking(uint32_t pending, uint32_t matched, uint64_t bound, const uint64_t* ranks) {
  for (uint32_t left = pending & matched; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (ranks[i] > bound) pending &= ~(uint32_t{1} << i);
  }
  return pending;
}

// Packets next to each other mostly have the same winner's mask.
void CountWinners(unsigned worker, uint32_t matched, Subtable* const* winners) {
  Subtable* subtable = nullptr;
  uint64_t run = 0;
  for (uint32_t left = matched; left != 0; left &= left - 1) {
    Subtable* const winner = winners[std::countr_zero(left)];
    if (winner != subtable && run > 0) AddOwn(subtable->counts(worker).hits, std::exchange(run, 0));
    subtable = winner;
    ++run;
  }
  if (run > 0) AddOwn(subtable->counts(worker).hits, run);
}

}  // namespace

size_t ClassifierTable::MaskHash::operator()(const PacketKey& mask) const {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = 0;
  for (size_t i = 0; i < kKeyWords; ++i) hash = MixWord(hash + i, WordOf(mask, i), kMultiplier);
  return hash;
}

ClassifierTable::ClassifierTable(uint8_t id, const HashKey& hash_key, unsigned worker_count)
    : masks_(new MaskArray),
      counts_(std::make_unique<Counts[]>(worker_count)),
      id_(id),
      hash_key_(hash_key),
      worker_count_(worker_count) {}

ClassifierTable::~ClassifierTable() { delete masks_.load(std::memory_order_relaxed); }

void ClassifierTable::Lookup(unsigned worker, uint64_t version, const PacketKey* keys, unsigned n,
                             const ClassifierEntry** entries) {
  uint32_t pending = ~uint32_t{0} >> (kBatch - n);
  uint32_t matched = 0;
  uint64_t visited = 0;
  uint64_t ranks[kBatch];
  Subtable* winners[kBatch];
  const ClassifierEntry* found[kBatch];
  for (const MaskItem& item : *masks_.load(std::memory_order_acquire)) {
    pending = StillLooking(pending, matched, item.bound, ranks);
    if (pending == 0) break;
    const uint64_t tried = static_cast<uint64_t>(std::popcount(pending));
    visited += tried;
    AddOwn(item.subtable->counts(worker).lookups, tried);
    const uint32_t hits = item.subtable->Lookup(keys, pending, version, found);
    for (uint32_t left = hits; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      if (entries[i] != nullptr && ranks[i] > found[i]->rank) continue;
      entries[i] = found[i];
      ranks[i] = found[i]->rank;
      winners[i] = item.subtable;
    }
    matched |= hits;
  }
  CountWinners(worker, matched, winners);
  AddOwn(counts_[worker].lookups, n);
  AddOwn(counts_[worker].matches, static_cast<uint64_t>(std::popcount(matched)));
  AddOwn(counts_[worker].masks_visited, visited);
}

void ClassifierTable::CountRemembered(unsigned worker, uint64_t lookups, uint64_t matches) {
  AddOwn(counts_[worker].lookups, lookups);
  AddOwn(counts_[worker].matches, matches);
}

Subtable* ClassifierTable::Find(const PacketKey& mask) const {
  const auto found = subtables_.find(mask);
  return found == subtables_.end() ? nullptr : found->second.get();
}

Subtable& ClassifierTable::Obtain(const PacketKey& mask) {
  std::unique_ptr<Subtable>& subtable = subtables_[mask];
  if (subtable == nullptr) subtable = std::make_unique<Subtable>(*this, mask, hash_key_, worker_count_);
  return *subtable;
}

void ClassifierTable::CountFlow(Subtable& subtable) {
  ++flow_count_;
  if (subtable.standing.flow_count++ == 0) ++mask_count_;
}

void ClassifierTable::UncountFlow(Subtable& subtable) {
  --flow_count_;
  if (--subtable.standing.flow_count == 0) --mask_count_;
}

void ClassifierTable::Settle(Subtable& subtable, Garbage& garbage) {
  Subtable::Standing& standing = subtable.standing;
  standing.unsettled = false;
  std::optional<uint64_t> bound = standing.bound;
  if (!standing.ranks.empty()) bound = *standing.ranks.rbegin();
  if (subtable.linked() == 0) bound.reset();
  if (bound != standing.bound) {
    if (standing.bound.has_value()) order_.erase({*standing.bound, &subtable});
    if (bound.has_value()) order_.insert({*bound, &subtable});
    standing.bound = bound;
    order_changed_ = true;
  }
  if (subtable.linked() > 0) return;
  const auto found = subtables_.find(subtable.mask());
  garbage.Add(std::move(found->second));
  subtables_.erase(found);
}

void ClassifierTable::PublishOrder(Garbage& garbage) {
  if (!std::exchange(order_changed_, false)) return;
  auto masks = std::make_unique<MaskArray>();
  masks->reserve(order_.size());
  for (const auto& [bound, subtable] : order_) masks->push_back({bound, subtable});
  garbage.Add(std::unique_ptr<const MaskArray>(masks_.exchange(masks.release(), std::memory_order_acq_rel)));
}

TableInfo ClassifierTable::Info() const {
  TableInfo info{.id = id_, .flow_count = flow_count_, .mask_count = mask_count_};
  for (unsigned worker = 0; worker < worker_count_; ++worker) {
    info.lookups += counts_[worker].lookups.load(std::memory_order_relaxed);
    info.matches += counts_[worker].matches.load(std::memory_order_relaxed);
    info.masks_visited += counts_[worker].masks_visited.load(std::memory_order_relaxed);
  }
  return info;
}

std::vector<MaskInfo> ClassifierTable::Masks() const {
  std::vector<MaskInfo> masks;
  for (const auto& [bound, subtable] : order_) {
    if (subtable->standing.flow_count == 0) continue;
    MaskInfo& info = masks.emplace_back();
    info.mask = subtable->mask();
    info.flow_count = subtable->standing.flow_count;
    info.max_priority = PriorityOf(bound);
    for (unsigned worker = 0; worker < worker_count_; ++worker) {
      info.lookups += subtable->counts(worker).lookups.load(std::memory_order_relaxed);
      info.hits += subtable->counts(worker).hits.load(std::memory_order_relaxed);
    }
  }
  return masks;
}

void ClassifierTable::ForEachSubtable(const std::function<void(const Subtable&)>& fn) const {
  for (const auto& [mask, subtable] : subtables_) fn(*subtable);
}

}  // namespace sluice
