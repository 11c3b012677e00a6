#include "dataplane/classifier/walk.h"

#include <bit>
#include <utility>

#include "dataplane/classifier/candidates.h"

namespace sluice {
namespace {

constexpr uint32_t Bit(int i) { return uint32_t{1} << i; }

// Packet i keeps what it has found if that is better.
void Offer(Walk& walk, int i, const ClassifierEntry* found, uint32_t place) {
  if ((walk.matched & Bit(i)) != 0 && walk.ranks[i] > found->rank) return;
  walk.matched |= Bit(i);
  walk.entries[i] = found;
  walk.ranks[i] = found->rank;
  walk.places[i] = place;
}

// Nothing from a mask with this bound on can beat what packet i has.
bool IsDone(const Walk& walk, int i, uint64_t bound) { return (walk.matched & Bit(i)) != 0 && walk.ranks[i] > bound; }

// Without those packets that are done.
uint32_t StillLooking(const Walk& walk, uint32_t pending, uint64_t bound) {
  for (uint32_t left = pending & walk.matched; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (walk.ranks[i] > bound) pending &= ~Bit(i);
  }
  return pending;
}

// Each packet in `pending` is tried under the mask at its place.
void TryEach(const MaskArray& masks, Walk& walk, uint32_t pending, const uint32_t* places) {
  Subtable::Probe probes[kBatch];
  for (uint32_t left = pending; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    probes[i] = masks.items[places[i]].subtable->Aim(walk.keys[i]);
  }
  uint32_t likely = 0;
  for (uint32_t left = pending; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (Subtable::Likely(probes[i])) likely |= Bit(i);
    AddOwn(masks.items[places[i]].subtable->counts(walk.worker).lookups, 1);
  }
  walk.visited += static_cast<uint64_t>(std::popcount(pending));
  for (uint32_t left = likely; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    const ClassifierEntry* found = masks.items[places[i]].subtable->Visible(probes[i], walk.keys[i], walk.version);
    if (found != nullptr) Offer(walk, i, found, places[i]);
  }
}

void WalkInOrder(const MaskArray& masks, Walk& walk) {
  const ClassifierEntry* found[kBatch];
  uint32_t pending = ~uint32_t{0} >> (kBatch - walk.n);
  for (uint32_t place = 0; place < masks.items.size(); ++place) {
    const MaskArray::Item& item = masks.items[place];
    pending = StillLooking(walk, pending, item.bound);
    if (pending == 0) return;
    const auto tried = static_cast<uint64_t>(std::popcount(pending));
    walk.visited += tried;
    AddOwn(item.subtable->counts(walk.worker).lookups, tried);
    const uint32_t hits = item.subtable->Lookup(walk.keys, pending, walk.version, found);
    for (uint32_t left = hits; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      Offer(walk, i, found[i], place);
    }
  }
}

void WalkByIndex(const MaskArray& masks, Walk& walk) {
  Candidates candidates(*masks.pruning);
  candidates.Find(walk.keys, walk.n);
  uint32_t places[kBatch];
  uint32_t pending = ~uint32_t{0} >> (kBatch - walk.n);
  while (pending != 0) {
    for (uint32_t left = pending; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      places[i] = candidates.Next(static_cast<unsigned>(i));
      if (places[i] == Candidates::kNone || IsDone(walk, i, masks.items[places[i]].bound)) {
        pending &= ~Bit(i);
      } else {
        masks.items[places[i]].subtable->Prefetch();
      }
    }
    TryEach(masks, walk, pending, places);
  }
}

void WalkWithHints(const MaskArray& masks, Walk& walk) {
  uint64_t hashes[kBatch];
  uint32_t hints[kBatch];
  uint32_t hinted = 0;
  for (unsigned i = 0; i < walk.n; ++i) {
    hashes[i] = masks.cache->HashOf(walk.keys[i]);
    hints[i] = masks.cache->Hint(walk.worker, hashes[i]);
    if (hints[i] < masks.items.size()) hinted |= Bit(static_cast<int>(i));
  }
  TryEach(masks, walk, hinted, hints);
  WalkInOrder(masks, walk);
  for (uint32_t left = walk.matched; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (walk.places[i] == hints[i]) {
      ++walk.cache_hits;
    } else {
      masks.cache->Note(walk.worker, hashes[i], walk.places[i]);
    }
  }
}

// Packets next to each other mostly have the same winner's mask.
void CountWinners(const MaskArray& masks, const Walk& walk) {
  Subtable* subtable = nullptr;
  uint64_t run = 0;
  for (uint32_t left = walk.matched; left != 0; left &= left - 1) {
    Subtable* const winner = masks.items[walk.places[std::countr_zero(left)]].subtable;
    if (winner != subtable && run > 0) AddOwn(subtable->counts(walk.worker).hits, std::exchange(run, 0));
    subtable = winner;
    ++run;
  }
  if (run > 0) AddOwn(subtable->counts(walk.worker).hits, run);
}

}  // namespace

void WalkOver(const MaskArray& masks, Walk& walk) {
  if (masks.pruning.has_value()) {
    WalkByIndex(masks, walk);
  } else if (masks.cache != nullptr) {
    WalkWithHints(masks, walk);
  } else {
    WalkInOrder(masks, walk);
  }
  CountWinners(masks, walk);
}

}  // namespace sluice
