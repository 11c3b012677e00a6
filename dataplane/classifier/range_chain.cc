#include "dataplane/classifier/range_chain.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <utility>

namespace sluice {
namespace {

constexpr size_t kSmall = RangeBlock::kMaxEntries / 2;  // blocks that together have no more become one

}  // namespace

RangeChain::RangeChain(ClassifierEntry* first, unsigned word_count)
    : ClassifierEntry(kStays, ~uint64_t{0}, nullptr, nullptr), word_count_(word_count) {
  assert(words() == key_.data());
  removed.store(0, std::memory_order_relaxed);
  next.store(first, std::memory_order_relaxed);
  std::copy_n(first->words(), word_count, key_.data());
  for (; first != nullptr; first = first->next.load(std::memory_order_relaxed)) {
    if (blocks_.empty() || blocks_.back().entries.size() == RangeBlock::kMaxEntries) blocks_.emplace_back();
    blocks_.back().entries.push_back(first);
    names_.insert(NameOf(first));
  }
  Garbage none;
  Publish(none);
}

RangeChain::Name RangeChain::NameOf(ClassifierEntry* entry) const {
  return {PriorityOf(entry->rank), entry->words()[word_count_], entry};
}

ClassifierEntry* RangeChain::FindAlive(const PortRanges& ranges, uint16_t priority) const {
  const auto bits = std::bit_cast<uint64_t>(ranges);
  for (auto name = names_.lower_bound({priority, bits, nullptr}); name != names_.end(); ++name) {
    const auto& [its_priority, its_bits, entry] = *name;
    if (its_priority != priority || its_bits != bits) break;
    if (entry->Alive()) return entry;
  }
  return nullptr;
}

// The first block with an entry of this rank or below; behind all if none has.
size_t RangeChain::BlockOf(uint64_t its_rank) const {
  const auto found = std::ranges::partition_point(
      blocks_, [its_rank](const Block& block) { return block.entries.back()->rank > its_rank; });
  return static_cast<size_t>(found - blocks_.begin());
}

ClassifierEntry* RangeChain::Before(Place place) {
  if (place.at > 0) return blocks_[place.block].entries[place.at - 1];
  return place.block > 0 ? blocks_[place.block - 1].entries.back() : this;
}

void RangeChain::Link(ClassifierEntry* entry) {
  Place place{std::min(BlockOf(entry->rank), blocks_.size() - 1), 0};
  const auto& entries = blocks_[place.block].entries;
  place.at = static_cast<size_t>(
      std::ranges::partition_point(entries, [entry](const auto* other) { return other->rank > entry->rank; }) -
      entries.begin());
  ClassifierEntry* const before = Before(place);
  entry->next.store(before->next.load(std::memory_order_relaxed), std::memory_order_relaxed);
  before->next.store(entry, std::memory_order_release);
  names_.insert(NameOf(entry));
  Insert(entry, place);
}

void RangeChain::Insert(ClassifierEntry* entry, Place place) {
  std::vector<ClassifierEntry*>& entries = blocks_[place.block].entries;
  entries.insert(entries.begin() + static_cast<ptrdiff_t>(place.at), entry);
  blocks_[place.block].changed = true;
  if (entries.size() > RangeBlock::kMaxEntries) Split(place);
}

// In the middle; but where entries come at one end of the chain, one by one, so
// that the others stay full.
void RangeChain::Split(Place place) {
  std::vector<ClassifierEntry*>& entries = blocks_[place.block].entries;
  size_t keep = entries.size() / 2;
  if (place.block + 1 == blocks_.size() && place.at + 1 == entries.size()) keep = place.at;
  if (place.block == 0 && place.at == 0) keep = 1;
  Block rest;
  rest.entries.assign(entries.begin() + static_cast<ptrdiff_t>(keep), entries.end());
  entries.resize(keep);
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(place.block) + 1, std::move(rest));
}

void RangeChain::Unlink(ClassifierEntry* entry) {
  Place place{BlockOf(entry->rank), 0};
  while (true) {
    const auto& entries = blocks_[place.block].entries;
    place.at = static_cast<size_t>(std::ranges::find(entries, entry) - entries.begin());
    if (place.at < entries.size()) break;
    ++place.block;  // one rank may have many entries
  }
  Before(place)->next.store(entry->next.load(std::memory_order_relaxed), std::memory_order_release);
  names_.erase(NameOf(entry));
  Block& block = blocks_[place.block];
  block.entries.erase(block.entries.begin() + static_cast<ptrdiff_t>(place.at));
  block.changed = true;
  if (block.entries.empty()) return Erase(place.block);
  MergeWithNext(place.block);
  if (place.block > 0) MergeWithNext(place.block - 1);
}

void RangeChain::MergeWithNext(size_t i) {
  if (i + 1 >= blocks_.size()) return;
  std::vector<ClassifierEntry*>& entries = blocks_[i].entries;
  const std::vector<ClassifierEntry*>& more = blocks_[i + 1].entries;
  if (entries.size() + more.size() > kSmall) return;
  entries.insert(entries.end(), more.begin(), more.end());
  blocks_[i].changed = true;
  Erase(i + 1);
}

void RangeChain::Erase(size_t i) {
  dropped_.push_back(std::move(blocks_[i].built));
  blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
}

void RangeChain::Publish(Garbage& garbage) {
  std::vector<const RangeBlock*> built;
  built.reserve(blocks_.size());
  for (Block& block : blocks_) {
    if (std::exchange(block.changed, false)) {
      dropped_.push_back(std::exchange(block.built, Build(block)));
    }
    built.push_back(block.built.get());
  }
  const RangeIndex* old = index_.exchange(new RangeIndex(std::move(built)), std::memory_order_acq_rel);
  garbage.Add(std::unique_ptr<const RangeIndex>(old));
  for (std::unique_ptr<const RangeBlock>& block : dropped_) garbage.Add(std::move(block));
  dropped_.clear();
  unpublished_ = false;
}

std::unique_ptr<const RangeBlock> RangeChain::Build(const Block& block) const {
  std::vector<RangeBlock::Item> items;
  items.reserve(block.entries.size());
  for (const ClassifierEntry* entry : block.entries) {
    items.push_back({entry, std::bit_cast<PortRanges>(entry->words()[word_count_])});
  }
  return std::make_unique<const RangeBlock>(items);
}

}  // namespace sluice
