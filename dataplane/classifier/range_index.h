// Which of many entries with ranges of ports contain a packet's ports, without
// comparing it with each.
//
// Entries stand in blocks by descending rank. The ends of a block's ranges cut
// the ports, sources and destinations by themselves, into intervals within which
// every port is in the same ranges. An interval has a bitmap of the block's
// entries whose range contains it. So a lookup finds two intervals in a block;
// the first bit that both bitmaps have is the entry of the highest rank.
//
// Immutable; any thread. What entries are visible is asked of the entries.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/classifier/entry.h"
#include "dataplane/flow/port_range.h"

namespace sluice {

class RangeBlock {
 public:
  static constexpr size_t kMaxEntries = 256;

  struct Item {
    const ClassifierEntry* entry;
    PortRanges ranges;
  };
  // One to kMaxEntries, by descending rank.
  explicit RangeBlock(std::span<const Item> items);

  // The first entry that contains the ports and is visible, or null.
  const ClassifierEntry* First(Ports ports, uint64_t version) const;

 private:
  static constexpr size_t kWords = kMaxEntries / 64;
  using Bitmap = std::array<uint64_t, kWords>;

  // The intervals of the sources, or of the destinations.
  class Axis {
   public:
    Axis(std::span<const Item> items, PortRange PortRanges::*port);
    const Bitmap& Of(uint16_t port) const;

   private:
    std::array<uint16_t, 257> at_page_;  // the interval with port 256 * i; the last is behind all
    std::vector<uint16_t> first_;        // ports of the intervals, ascending from 0
    std::vector<Bitmap> members_;        // of the intervals
  };

  Axis source_;
  Axis destination_;
  std::vector<const ClassifierEntry*> entries_;
};

// All blocks of a chain.
class RangeIndex {
 public:
  explicit RangeIndex(std::vector<const RangeBlock*> blocks) : blocks_(std::move(blocks)) {}

  const ClassifierEntry* First(Ports ports, uint64_t version) const {
    for (const RangeBlock* block : blocks_) {
      const ClassifierEntry* entry = block->First(ports, version);
      if (entry != nullptr) return entry;
    }
    return nullptr;
  }

 private:
  const std::vector<const RangeBlock*> blocks_;  // by descending rank
};

}  // namespace sluice
