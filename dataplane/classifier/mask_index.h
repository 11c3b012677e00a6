// Which masks of a table can match a packet at all: the pruning index.
//
// The question. A packet is tried under hundreds of masks and one or two match.
// Of the rest, nearly all could be told by a glance: no flow of that mask has
// such a destination, or such a port.
//
// Chunks. The key is read in chunks of 16 bits. Under a mask, a flow has a value
// in each chunk that the mask looks at, and a packet can match some flow of it
// only if each of its chunks, taken by itself, is that of some flow. So for a
// chunk each value x leads to a row of bits, one a mask: set if a flow of that
// mask has x there, under the mask's own bits of the chunk. Masks that do not
// look at the chunk pass: their bits are OR-ed in. The AND over the chunks
// leaves the masks that can match. Some of those do not after all, since their
// values come from different flows: on filter sets of 10,000 rules 7 to 10 of
// 1,435 masks are left, and with the early stop 1.0 to 1.25 are probed.
//
// Classes. Most values are alike, so a cell a value says its class and classes
// have the rows (value_classes.h). A new flow mostly finds its bit set and costs a
// load a chunk. A lookup ANDs the chunks with the most classes, kMaxChosen at
// most; all are kept.
//
// Slots. A subtable has a number, its bit in every row, for as long as it is in
// the index. Masks are tried in the order of the published array, so what a
// lookup finds is led from slots to places in it; where slots stand in the
// array's order, as they do after a build, the first bit is the first place.
//
// Never a missing one. A bit is set before the version that shows its entry is
// published. Bits of unlinked entries are left as they are until there are more
// of those than of others; then the slot's bits are compared with the entries
// that are linked (Refresh). A packet's cell may be loaded before and its row
// after a class splits and is refreshed; so no bit is cleared until a grace
// period has passed since the last split. A slot is used anew a grace period
// after its subtable left the array.
//
// Memory: a chunk costs 128 KiB and its rows, which are bounded; a chunk whose
// rows would be bigger is given up, and a table of too many masks has no index.
//
//   packet ──▶ chunk values ──▶ classes ──▶ rows, ANDed ──▶ slots ──▶ places
//
// Threads: all is the writer's, but for the chosen chunks, which workers read
// (ValueClasses). What workers see of the rest is a copy in the mask array.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/classifier/garbage.h"
#include "dataplane/classifier/subtable.h"
#include "dataplane/classifier/value_classes.h"
#include "dataplane/packet/key.h"

namespace sluice {

// What a published array of masks has from the index.
struct Pruning {
  struct Chunk {
    const ValueClasses* classes;
    uint32_t offset;  // bytes, in the key
  };
  std::vector<Chunk> chunks{};      // those that lookups take
  uint32_t words = 0;               // a row
  std::vector<uint64_t> passing{};  // chunk after chunk: slots that do not look there
  std::vector<uint64_t> live{};     // slots that are in the array
  std::vector<uint16_t> places{};   // in the array, by slot
  bool in_order = true;             // places rise with slots
};

class MaskIndex {
 public:
  static constexpr uint32_t kMaxSlots = 8192;
  static constexpr unsigned kMaxChosen = 6;
  static constexpr unsigned kChunks = sizeof(PacketKey) / sizeof(uint16_t);

  // kNoSlot if all are taken.
  uint32_t TakeSlot(const PacketKey& mask, Garbage& garbage);
  // The subtable leaves the array with what is published next.
  void ReleaseSlot(uint32_t slot, Garbage& garbage);

  // An entry of the slot's subtable has been linked; words: its packed value.
  void Add(uint32_t slot, const uint64_t* words, Garbage& garbage);
  // One has been unlinked.
  void Remove(const Subtable& subtable);

  // What is added to garbage from now on may see a grace period of its own.
  void EndBatch() { split_is_noted_ = false; }

  // Whether other chunks should be chosen by now.
  bool WantsChoice() const;
  // Chooses; live and places are left to the caller, as are slots in the array.
  Pruning Choose(Garbage& garbage);

  uint64_t Bytes() const;

 private:
  // Set once a grace period has passed.
  using Passed = std::shared_ptr<std::atomic<bool>>;
  // What a slot looks at in one chunk.
  struct Look {
    uint16_t chunk;
    uint16_t offset;  // bytes, in the packed words
    uint16_t mask;
  };
  struct Slot {
    std::vector<Look> looks{};
    uint64_t stale = 0;  // entries unlinked since the bits were exact
    Passed free_when{};  // of one that is released
  };
  struct Chunk {
    std::unique_ptr<ValueClasses> classes{};
    std::vector<uint64_t> looking{};  // slots that look here
    uint32_t chosen_at = 0;           // classes when chunks were last chosen
    bool given_up = false;
  };

  static Passed PassedWith(Garbage& garbage);
  uint32_t FreeSlot();
  void GrowTo(uint32_t slots, Garbage& garbage);
  void Refresh(const Subtable& subtable, Slot& slot);

  std::vector<Slot> slots_;
  std::vector<uint32_t> released_;
  std::array<Chunk, kChunks> chunks_;
  uint32_t stride_ = 1;  // words a row
  bool split_is_noted_ = false;
  Passed last_split_;
};

}  // namespace sluice
