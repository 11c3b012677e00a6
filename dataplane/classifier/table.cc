#include "dataplane/classifier/table.h"

#include <algorithm>
#include <bit>

#include "dataplane/classifier/candidates.h"
#include "dataplane/classifier/classifier.h"
#include "dataplane/classifier/walk.h"
#include "dataplane/flow/flow_table.h"

namespace sluice {
namespace {

// Re-sorting gives the index new slots, which costs about what adding all flows
// does, only where it is a small part of what lookups cost.
constexpr uint64_t kLookupsAFlow = 20;

}  // namespace

size_t ClassifierTable::MaskHash::operator()(const PacketKey& mask) const {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = 0;
  for (size_t i = 0; i < kKeyWords; ++i) hash = MixWord(hash + i, WordOf(mask, i), kMultiplier);
  return hash;
}

ClassifierTable::ClassifierTable(uint8_t id, const HashKey& hash_key, unsigned worker_count,
                                 const ClassifierOptions& options)
    : masks_(new MaskArray),
      counts_(std::make_unique<Counts[]>(worker_count)),
      id_(id),
      hash_key_(hash_key),
      worker_count_(worker_count) {
  Garbage none;
  SetOptions(options, none);
}

ClassifierTable::~ClassifierTable() { delete masks_.load(std::memory_order_relaxed); }

void ClassifierTable::Lookup(unsigned worker, uint64_t version, const PacketKey* keys, unsigned n,
                             const ClassifierEntry** entries) {
  const MaskArray& masks = *masks_.load(std::memory_order_acquire);
  Walk walk(worker, version, keys, n, entries);
  WalkOver(masks, walk);
  Counts& counts = counts_[worker];
  AddOwn(counts.lookups, n);
  AddOwn(counts.matches, static_cast<uint64_t>(std::popcount(walk.matched)));
  AddOwn(counts.masks_visited, walk.visited);
  if (masks.pruning.has_value()) AddOwn(counts.pruned_lookups, n);
  if (walk.cache_hits > 0) AddOwn(counts.mask_cache_hits, walk.cache_hits);
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

void ClassifierTable::Link(Subtable& subtable, ClassifierEntry* entry, Garbage& garbage) {
  if (index_ != nullptr && subtable.standing.slot == kNoSlot) GiveSlot(subtable, garbage);
  if (subtable.standing.slot != kNoSlot) index_->Add(subtable.standing.slot, entry->words(), garbage);
  subtable.Link(entry, garbage);
}

void ClassifierTable::Unlink(Subtable& subtable, ClassifierEntry* entry, Garbage& garbage) {
  subtable.Unlink(entry, garbage);
  if (subtable.standing.slot != kNoSlot) index_->Remove(subtable);
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
    if (standing.bound.has_value()) order_.erase(PlaceOf(subtable));
    standing.bound = bound;
    if (standing.bound.has_value()) order_.insert(PlaceOf(subtable));
    order_changed_ = true;
  }
  if (subtable.linked() > 0) return;
  if (standing.slot != kNoSlot) index_->ReleaseSlot(standing.slot, garbage);
  const auto found = subtables_.find(subtable.mask());
  garbage.Add(std::move(found->second));
  subtables_.erase(found);
}

void ClassifierTable::PublishOrder(Garbage& garbage) {
  if (index_ != nullptr) order_changed_ |= index_->WantsChoice();
  if (std::exchange(order_changed_, false)) Publish(garbage);
  if (index_ != nullptr) index_->EndBatch();
}

void ClassifierTable::Publish(Garbage& garbage) {
  if (order_.size() < MaskIndex::kMaxSlots / 2) index_is_full_ = false;
  if (!WantsIndex()) DropIndex(garbage);
  if (WantsIndex() && index_ == nullptr) BuildIndex(garbage);
  auto masks = std::make_unique<MaskArray>();
  masks->items.reserve(order_.size());
  for (const auto& [bound, use, exact, subtable] : order_) masks->items.push_back({bound, subtable});
  if (index_ != nullptr) AddPruning(*masks, garbage);
  masks->cache = cache_.get();
  garbage.Add(std::unique_ptr<const MaskArray>(masks_.exchange(masks.release(), std::memory_order_acq_rel)));
}

void ClassifierTable::SetOptions(const ClassifierOptions& options, Garbage& garbage) {
  if (options.mask_cache_entries != options_.mask_cache_entries) {
    garbage.Add(std::move(cache_));
    if (options.mask_cache_entries > 0) {
      cache_ = std::make_unique<MaskCache>(worker_count_, options.mask_cache_entries, hash_key_);
    }
  }
  order_.clear();
  options_ = options;
  for (const auto& [mask, subtable] : subtables_) order_.insert(PlaceOf(*subtable));
  order_changed_ = true;
  PublishOrder(garbage);
}

void ClassifierTable::Resort(Garbage& garbage) {
  for (const auto& [mask, subtable] : subtables_) {
    Subtable::Standing& standing = subtable->standing;
    const uint64_t hits = HitsOf(*subtable);
    const Place before = PlaceOf(*subtable);
    standing.use = hits - std::exchange(standing.hits_then, hits);
    const Place after = PlaceOf(*subtable);
    if (before == after) continue;
    order_.erase(before);
    order_.insert(after);
    order_changed_ = true;
  }
  PublishOrder(garbage);
  if (!WantsNewSlots()) return;
  DropIndex(garbage);
  order_changed_ = true;
  PublishOrder(garbage);
}

ClassifierTable::Place ClassifierTable::PlaceOf(Subtable& subtable) const {
  const uint64_t bound = *subtable.standing.bound;
  if (options_.equal_priority == EqualPriority::kOldest) return {bound, 0, bound, &subtable};
  // The lowest rank of that priority: any flow of it will do.
  return {RankOf(PriorityOf(bound), kMaxSequence), subtable.standing.use, bound, &subtable};
}

uint64_t ClassifierTable::HitsOf(Subtable& subtable) const {
  uint64_t hits = 0;
  for (unsigned worker = 0; worker < worker_count_; ++worker) {
    hits += subtable.counts(worker).hits.load(std::memory_order_relaxed);
  }
  return hits;
}

uint64_t ClassifierTable::Lookups() const {
  uint64_t lookups = 0;
  for (unsigned worker = 0; worker < worker_count_; ++worker) {
    lookups += counts_[worker].lookups.load(std::memory_order_relaxed);
  }
  return lookups;
}

bool ClassifierTable::WantsIndex() const {
  if (!options_.pruning || index_is_full_) return false;
  return order_.size() >= (index_ == nullptr ? options_.pruned_from : (options_.pruned_from + 1) / 2);
}

bool ClassifierTable::WantsNewSlots() const {
  if (index_ == nullptr || masks_.load(std::memory_order_relaxed)->pruning->in_order) return false;
  return Lookups() - lookups_at_build_ >= kLookupsAFlow * flow_count_;
}

// Of all that is linked; slots in the order of the masks.
void ClassifierTable::BuildIndex(Garbage& garbage) {
  index_ = std::make_unique<MaskIndex>();
  lookups_at_build_ = Lookups();
  for (const auto& [bound, use, exact, subtable] : order_) {
    GiveSlot(*subtable, garbage);
    if (index_is_full_) return DropIndex(garbage);
    const uint32_t slot = subtable->standing.slot;
    subtable->ForEachLinked([&](const ClassifierEntry& entry) { index_->Add(slot, entry.words(), garbage); });
  }
}

void ClassifierTable::DropIndex(Garbage& garbage) {
  if (index_ == nullptr) return;
  garbage.Add(std::move(index_));
  for (const auto& [mask, subtable] : subtables_) subtable->standing.slot = kNoSlot;
}

void ClassifierTable::GiveSlot(Subtable& subtable, Garbage& garbage) {
  subtable.standing.slot = index_->TakeSlot(subtable.mask(), garbage);
  if (subtable.standing.slot == kNoSlot) index_is_full_ = order_changed_ = true;
}

void ClassifierTable::AddPruning(MaskArray& masks, Garbage& garbage) {
  Pruning& pruning = masks.pruning.emplace(index_->Choose(garbage));
  uint32_t last = 0;
  for (size_t place = 0; place < masks.items.size(); ++place) {
    const uint32_t slot = masks.items[place].subtable->standing.slot;
    pruning.live[slot / 64] |= uint64_t{1} << (slot % 64);
    pruning.places[slot] = static_cast<uint16_t>(place);
    pruning.in_order &= slot >= last;
    last = slot;
  }
}

TableInfo ClassifierTable::Info() const {
  TableInfo info{.id = id_, .flow_count = flow_count_, .mask_count = mask_count_};
  for (unsigned worker = 0; worker < worker_count_; ++worker) {
    info.lookups += counts_[worker].lookups.load(std::memory_order_relaxed);
    info.matches += counts_[worker].matches.load(std::memory_order_relaxed);
    info.masks_visited += counts_[worker].masks_visited.load(std::memory_order_relaxed);
    info.mask_cache_hits += counts_[worker].mask_cache_hits.load(std::memory_order_relaxed);
    info.pruned_lookups += counts_[worker].pruned_lookups.load(std::memory_order_relaxed);
  }
  if (index_ == nullptr) return info;
  info.indexed_masks = static_cast<uint32_t>(order_.size());
  info.index_bytes = index_->Bytes();
  return info;
}

std::vector<MaskInfo> ClassifierTable::Masks() const {
  std::vector<MaskInfo> masks;
  for (const auto& [bound, use, exact, subtable] : order_) {
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

// As walk.h goes over the masks; without a mask cache's hint, which only changes what
// comes first.
ClassifierTable::Explanation ClassifierTable::Explain(const PacketKey& key) const {
  const MaskArray& masks = *masks_.load(std::memory_order_relaxed);
  std::vector<bool> possible(masks.items.size(), !masks.pruning.has_value());
  if (masks.pruning.has_value()) {
    Candidates candidates(*masks.pruning);
    candidates.Find(&key, 1);
    for (uint32_t place; (place = candidates.Next(0)) != Candidates::kNone;) possible[place] = true;
  }
  Explanation explanation;
  std::vector<const ClassifierEntry*>& entries = explanation.entries;
  const ClassifierEntry* winner = nullptr;
  for (size_t place = 0; place < masks.items.size(); ++place) {
    const MaskArray::Item& item = masks.items[place];
    const size_t before = entries.size();
    item.subtable->AddMatching(key, entries);
    if (!possible[place] || (winner != nullptr && winner->rank > item.bound)) continue;
    explanation.masks.push_back(item.subtable->mask());
    if (entries.size() > before && (winner == nullptr || entries[before]->rank > winner->rank))
      winner = entries[before];
  }
  std::ranges::sort(entries, [winner](const ClassifierEntry* a, const ClassifierEntry* b) {
    return a != b && (a == winner || (b != winner && a->rank > b->rank));
  });
  return explanation;
}

void ClassifierTable::ForEachSubtable(const std::function<void(const Subtable&)>& fn) const {
  for (const auto& [mask, subtable] : subtables_) fn(*subtable);
}

}  // namespace sluice
