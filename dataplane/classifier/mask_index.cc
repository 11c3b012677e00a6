#include "dataplane/classifier/mask_index.h"

#include <algorithm>
#include <cstring>

#include "dataplane/flow/match.h"

namespace sluice {
namespace {

constexpr uint64_t kMinStale = 64;
// Refreshing walks over all classes; so many of them cost about what a removal may.
constexpr uint64_t kClassesARemoval = 16;

uint16_t ChunkAt(const void* key, size_t offset) {
  uint16_t value;
  std::memcpy(&value, static_cast<const char*>(key) + offset, sizeof value);
  return value;
}

// 1, 2 or a multiple of 8: a line, which vectors take whole.
uint32_t WordsFor(uint32_t slots) {
  const uint32_t words = std::max<uint32_t>(1, (slots + 63) / 64);
  return words <= 2 ? words : (words + 7) / 8 * 8;
}

}  // namespace

MaskIndex::Passed MaskIndex::PassedWith(Garbage& garbage) {
  struct Lease {
    Passed passed = std::make_shared<std::atomic<bool>>(false);
    ~Lease() { passed->store(true, std::memory_order_release); }
  };
  auto lease = std::make_unique<Lease>();
  Passed passed = lease->passed;
  garbage.Add(std::move(lease));
  return passed;
}

uint32_t MaskIndex::TakeSlot(const PacketKey& mask, Garbage& garbage) {
  const uint32_t number = FreeSlot();
  if (number == kNoSlot) return kNoSlot;
  if (number == slots_.size()) {
    GrowTo(number + 1, garbage);
    slots_.emplace_back();
  }
  Slot& slot = slots_[number] = {};
  uint16_t packed = 0;
  for (size_t word = 0; word < kKeyWords; ++word) {
    if (WordOf(mask, word) == 0) continue;
    for (uint16_t part = 0; part < sizeof(uint64_t); part += sizeof(uint16_t)) {
      const size_t offset = word * sizeof(uint64_t) + part;
      const uint16_t bits = ChunkAt(&mask, offset);
      const auto chunk = static_cast<uint16_t>(offset / sizeof(uint16_t));
      if (bits == 0 || chunks_[chunk].given_up) continue;
      slot.looks.push_back({chunk, static_cast<uint16_t>(packed + part), bits});
      if (chunks_[chunk].classes == nullptr) chunks_[chunk].classes = std::make_unique<ValueClasses>(stride_);
      chunks_[chunk].looking.resize(stride_);
      chunks_[chunk].looking[number / 64] |= uint64_t{1} << (number % 64);
    }
    packed = static_cast<uint16_t>(packed + sizeof(uint64_t));
  }
  return number;
}

// Of those released, one that no worker knows any more, with its bits cleared;
// or the next that was never used.
uint32_t MaskIndex::FreeSlot() {
  const auto free = std::ranges::find_if(
      released_, [&](uint32_t slot) { return slots_[slot].free_when->load(std::memory_order_acquire); });
  if (free == released_.end()) return slots_.size() < kMaxSlots ? static_cast<uint32_t>(slots_.size()) : kNoSlot;
  const uint32_t number = *free;
  released_.erase(free);
  for (const Look& look : slots_[number].looks) {
    Chunk& chunk = chunks_[look.chunk];
    if (chunk.given_up) continue;
    chunk.classes->Keep(number, look.mask, {});
    chunk.looking[number / 64] &= ~(uint64_t{1} << (number % 64));
  }
  return number;
}

void MaskIndex::ReleaseSlot(uint32_t slot, Garbage& garbage) {
  slots_[slot].free_when = PassedWith(garbage);
  released_.push_back(slot);
}

void MaskIndex::GrowTo(uint32_t slots, Garbage& garbage) {
  const uint32_t words = WordsFor(slots);
  if (words <= stride_) return;
  // Beyond what is needed, so that growing costs little a slot.
  stride_ = WordsFor(std::max(slots, std::min(kMaxSlots, slots + slots / 4)));
  for (Chunk& chunk : chunks_) {
    if (chunk.classes != nullptr) chunk.classes->SetStride(stride_, garbage);
    chunk.looking.resize(stride_);
  }
}

void MaskIndex::Add(uint32_t slot, const uint64_t* words, Garbage& garbage) {
  bool split = false;
  for (const Look& look : slots_[slot].looks) {
    Chunk& chunk = chunks_[look.chunk];
    if (chunk.classes == nullptr) continue;
    split |= chunk.classes->Set(slot, ChunkAt(words, look.offset), look.mask, garbage);
  }
  if (!split || split_is_noted_) return;
  last_split_ = PassedWith(garbage);
  split_is_noted_ = true;
}

void MaskIndex::Remove(const Subtable& subtable) {
  Slot& slot = slots_[subtable.standing.slot];
  uint64_t classes = 0;
  for (const Look& look : slot.looks) {
    if (!chunks_[look.chunk].given_up) classes += chunks_[look.chunk].classes->class_count();
  }
  ++slot.stale;
  if (subtable.linked() == 0 || slot.stale < std::max({kMinStale, subtable.linked(), classes / kClassesARemoval}))
    return;
  if (last_split_ != nullptr && !last_split_->load(std::memory_order_acquire)) return;
  Refresh(subtable, slot);
}

// Takes away the bits that no linked entry needs.
void MaskIndex::Refresh(const Subtable& subtable, Slot& slot) {
  slot.stale = 0;
  std::vector<uint16_t> values;
  for (const Look& look : slot.looks) {
    Chunk& chunk = chunks_[look.chunk];
    if (chunk.given_up) continue;
    values.clear();
    subtable.ForEachLinked(
        [&](const ClassifierEntry& entry) { values.push_back(ChunkAt(entry.words(), look.offset)); });
    chunk.classes->Keep(subtable.standing.slot, look.mask, values);
  }
}

bool MaskIndex::WantsChoice() const {
  return std::ranges::any_of(chunks_, [](const Chunk& chunk) {
    if (chunk.classes == nullptr) return false;
    return chunk.classes->given_up() || chunk.classes->class_count() > 2 * chunk.chosen_at + 2;
  });
}

Pruning MaskIndex::Choose(Garbage& garbage) {
  std::vector<uint32_t> best;
  for (uint32_t i = 0; i < kChunks; ++i) {
    Chunk& chunk = chunks_[i];
    if (chunk.classes == nullptr) continue;
    if (chunk.classes->given_up()) {
      chunk.given_up = true;
      garbage.Add(std::move(chunk.classes));
      continue;
    }
    chunk.chosen_at = chunk.classes->class_count();
    best.push_back(i);
  }
  std::ranges::stable_sort(best, std::ranges::greater(), [&](uint32_t i) { return chunks_[i].chosen_at; });
  best.resize(std::min<size_t>(best.size(), kMaxChosen));
  // Two classes are what all flows demand and the rest: packets that hit have it.
  while (best.size() > 1 && chunks_[best.back()].chosen_at <= 2) best.pop_back();
  Pruning pruning{.words = std::min(stride_, WordsFor(static_cast<uint32_t>(slots_.size())))};
  for (const uint32_t i : best) {
    pruning.chunks.push_back({chunks_[i].classes.get(), static_cast<uint32_t>(i * sizeof(uint16_t))});
    for (uint32_t word = 0; word < pruning.words; ++word) pruning.passing.push_back(~chunks_[i].looking[word]);
  }
  pruning.live.resize(pruning.words);
  pruning.places.resize(size_t{64} * pruning.words);
  return pruning;
}

uint64_t MaskIndex::Bytes() const {
  uint64_t bytes = sizeof *this + slots_.size() * sizeof(Slot);
  for (const Chunk& chunk : chunks_) {
    if (chunk.classes != nullptr) bytes += chunk.classes->Bytes();
  }
  for (const Slot& slot : slots_) bytes += slot.looks.capacity() * sizeof(Look);
  return bytes;
}

}  // namespace sluice
