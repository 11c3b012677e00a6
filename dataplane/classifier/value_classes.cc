#include "dataplane/classifier/value_classes.h"

#include <algorithm>
#include <new>

namespace sluice {
namespace {

constexpr uint16_t kAllBits = 0xffff;
constexpr uint32_t kFirstRows = 16;

uint64_t BitOf(uint32_t slot) { return uint64_t{1} << (slot % 64); }

// Calls fn(x) for all x with (x & mask) == value.
template <typename Fn>
void ForEachValue(uint16_t value, uint16_t mask, Fn fn) {
  const uint32_t free = kAllBits & ~uint32_t{mask};
  uint32_t part = 0;
  do {
    fn(static_cast<uint16_t>(value | part));
    part = (part - free) & free;
  } while (part != 0);
}

}  // namespace

RowBlock::Pointer RowBlock::New(uint32_t row_count, uint32_t stride) {
  const size_t words = size_t{row_count} * stride;
  void* memory = ::operator new (sizeof(RowBlock) + words * sizeof(uint64_t), std::align_val_t{alignof(RowBlock)});
  Pointer block(new (memory) RowBlock{row_count, stride});
  std::atomic<uint64_t>* word = block->row(0);
  for (size_t i = 0; i < words; ++i) new (&word[i]) std::atomic<uint64_t>(0);
  return block;
}

void RowBlock::Delete::operator()(RowBlock* block) const {
  ::operator delete (block, std::align_val_t{alignof(RowBlock)});
}

ValueClasses::ValueClasses(uint32_t stride)
    : cells_(std::make_unique<std::atomic<uint16_t>[]>(kValues)),
      rows_(RowBlock::New(kFirstRows, stride).release()),
      sizes_{kValues},
      nodes_of_(1) {}

ValueClasses::~ValueClasses() { RowBlock::Delete()(rows_.load(std::memory_order_relaxed)); }

bool ValueClasses::Set(uint32_t slot, uint16_t value, uint16_t mask, Garbage& garbage) {
  // One slot has one mask here: whoever set the bit set it for all of the pair.
  if (given_up_ || Has(ClassOf(value), slot)) return false;
  const uint32_t before = class_count();
  if (mask == kAllBits) {
    const uint16_t alone = Alone(value, garbage);
    if (!given_up_) Mark(alone, slot);
  } else {
    const uint32_t node = NodeOf(value, mask, garbage);
    if (given_up_) return false;
    for (const uint16_t of_class : nodes_[node]) Mark(of_class, slot);
  }
  return class_count() != before;
}

void ValueClasses::Keep(uint32_t slot, uint16_t mask, std::span<const uint16_t> values) {
  if (given_up_) return;
  std::vector<bool> kept(class_count());
  for (const uint16_t value : values) {
    if (kept[ClassOf(value)]) continue;
    if (mask == kAllBits) {
      kept[ClassOf(value)] = true;
      continue;
    }
    for (const uint16_t of_class : nodes_[pairs_.at(uint32_t{mask} << 16 | value)]) kept[of_class] = true;
  }
  RowBlock& rows = *rows_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < class_count(); ++i) {
    if (kept[i] || !Has(static_cast<uint16_t>(i), slot)) continue;
    std::atomic<uint64_t>& word = rows.row(i)[slot / 64];
    word.store(word.load(std::memory_order_relaxed) & ~BitOf(slot), std::memory_order_relaxed);
  }
}

void ValueClasses::SetStride(uint32_t stride, Garbage& garbage) {
  if (!given_up_) Replace(rows_.load(std::memory_order_relaxed)->row_count, stride, garbage);
}

uint64_t ValueClasses::Bytes() const {
  constexpr uint64_t kClass = sizeof(uint32_t) + sizeof(std::vector<uint32_t>);
  constexpr uint64_t kNode = sizeof(Node) + 2 * sizeof(uint64_t);
  return kValues * sizeof(uint16_t) + rows_.load(std::memory_order_relaxed)->bytes() + class_count() * kClass +
         nodes_.size() * kNode + node_items_ * (sizeof(uint16_t) + sizeof(uint32_t));
}

// The class of this value and no other.
uint16_t ValueClasses::Alone(uint16_t value, Garbage& garbage) {
  const uint16_t from = ClassOf(value);
  if (sizes_[from] == 1) return from;
  const uint16_t alone = SplitOff(from, garbage);
  if (!given_up_) MoveCell(value, alone);
  return alone;
}

// The node of a pair, made if there is none.
uint32_t ValueClasses::NodeOf(uint16_t value, uint16_t mask, Garbage& garbage) {
  const auto [found, is_new] = pairs_.try_emplace(uint32_t{mask} << 16 | value, static_cast<uint32_t>(nodes_.size()));
  const uint32_t node = found->second;
  if (!is_new) return node;
  nodes_.emplace_back();
  std::vector<uint32_t> inside(class_count());
  ForEachValue(value, mask, [&](uint16_t x) { ++inside[ClassOf(x)]; });
  std::vector<uint16_t> now(inside.size());  // by class: where its values inside go
  for (uint32_t i = 0; i < inside.size() && !given_up_; ++i) {
    if (inside[i] == 0) continue;
    const auto whole = static_cast<uint16_t>(i);
    now[i] = inside[i] == sizes_[i] ? whole : SplitOff(whole, garbage);
    if (given_up_) return node;
    nodes_[node].push_back(now[i]);
    nodes_of_[now[i]].push_back(node);
    ++node_items_;
  }
  ForEachValue(value, mask, [&](uint16_t x) {
    const uint16_t of_class = ClassOf(x);
    if (of_class < now.size() && now[of_class] != of_class) MoveCell(x, now[of_class]);
  });
  return node;
}

// A new class with the bits and nodes of another, and no values yet.
uint16_t ValueClasses::SplitOff(uint16_t from, Garbage& garbage) {
  const uint32_t split = class_count();
  const RowBlock& old = *rows_.load(std::memory_order_relaxed);
  if (split == old.row_count) Replace(2 * old.row_count, old.stride, garbage);
  if (given_up_) return 0;
  RowBlock& rows = *rows_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < rows.stride; ++i) {
    rows.row(split)[i].store(rows.row(from)[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  sizes_.push_back(0);
  nodes_of_.push_back(std::vector<uint32_t>(nodes_of_[from]));
  for (const uint32_t node : nodes_of_.back()) nodes_[node].push_back(static_cast<uint16_t>(split));
  node_items_ += nodes_of_.back().size();
  return static_cast<uint16_t>(split);
}

void ValueClasses::MoveCell(uint16_t value, uint16_t to) {
  --sizes_[ClassOf(value)];
  ++sizes_[to];
  cells_[value].store(to, std::memory_order_release);
}

void ValueClasses::Replace(uint32_t row_count, uint32_t stride, Garbage& garbage) {
  given_up_ = uint64_t{row_count} * stride * sizeof(uint64_t) > kMaxBlockBytes;
  if (given_up_) return;
  RowBlock* old = rows_.load(std::memory_order_relaxed);
  RowBlock::Pointer block = RowBlock::New(row_count, stride);
  const uint32_t words = std::min(stride, old->stride);
  for (uint32_t i = 0; i < class_count(); ++i) {
    for (uint32_t k = 0; k < words; ++k) {
      block->row(i)[k].store(old->row(i)[k].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
  }
  rows_.store(block.release(), std::memory_order_release);
  garbage.Add(RowBlock::Pointer(old));
}

bool ValueClasses::Has(uint16_t of_class, uint32_t slot) const {
  const RowBlock& rows = *rows_.load(std::memory_order_relaxed);
  return (rows.row(of_class)[slot / 64].load(std::memory_order_relaxed) & BitOf(slot)) != 0;
}

void ValueClasses::Mark(uint16_t of_class, uint32_t slot) {
  std::atomic<uint64_t>& word = rows_.load(std::memory_order_relaxed)->row(of_class)[slot / 64];
  word.store(word.load(std::memory_order_relaxed) | BitOf(slot), std::memory_order_relaxed);
}

}  // namespace sluice
