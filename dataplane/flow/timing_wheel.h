// What is due when: items filed by tick, taken when their tick has come.
//
// G. Varghese, A. Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987),
// scheme 4: one slot a tick for as many ticks as a timer can run, so filing,
// unfiling and each tick cost the same however many items there are. Not the
// hierarchy (scheme 7): 65,536 s in ticks of 250 ms are 1 MiB of slots, which
// is little, and nothing is ever filed twice only since time went on. Items of a
// slot are taken in any order. The slots are allocated with the first item.
//
// Items are small numbers that the caller chooses, as of an array; 0 is none. Each
// is filed once at a time. One thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace sluice {

class TimingWheel {
 public:
  using Item = uint32_t;
  static constexpr uint64_t kSlots = uint64_t{1} << 18;
  // Ticks that one Take looks at, at most.
  static constexpr uint64_t kMostTicks = 1 << 14;

  // now: the tick at which time begins.
  explicit TimingWheel(uint64_t now) : next_(now) {}

  // Filed: no effect on others, and its old place is forgotten. A tick that has
  // been is due at once; one further than a turn comes due when the turn ends.
  void File(Item item, uint64_t tick);
  void Unfile(Item item);  // no effect if it is not filed
  bool filed(Item item) const { return item < links_.size() && links_[item].slot != kNowhere; }
  size_t size() const { return size_; }

  // Adds to `out` up to `most` items whose tick is `now` or before; they are no
  // longer filed. True: there is nothing more to take until the next tick. A tick
  // must not go backwards; if it does, nothing is due.
  bool Take(uint64_t now, size_t most, std::vector<Item>& out);

  size_t bytes() const { return heads_.capacity() * sizeof(Item) + links_.size() * sizeof(Link); }

 private:
  static constexpr uint32_t kNowhere = ~uint32_t{0};
  struct Link {
    Item before = 0;
    Item after = 0;
    uint32_t slot = kNowhere;
  };

  uint64_t next_;  // the first tick that is not done with
  size_t size_ = 0;
  std::vector<Item> heads_;  // by slot; empty before the first item
  std::deque<Link> links_;   // by item; grows without moving
};

}  // namespace sluice
