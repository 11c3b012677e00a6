// A bounded ring of bytes between one thread that puts records and one that takes
// them; all of it there from the start.
//
// A record is in one piece. It is reserved, filled, and seen by the other side
// once it is committed; what is reserved and not committed may be taken back.
// Nobody is woken: who drains comes by.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace sluice {

class ByteRing {
 public:
  // A power of two.
  explicit ByteRing(size_t bytes);

  // The putting side. Room for a record of so many bytes, aligned to 8, behind all that is reserved; null if there is
  // none.
  std::byte* Reserve(size_t bytes);
  // The end of what is reserved, and back to where it was then; not behind what is committed.
  uint64_t reserved() const { return reserved_; }
  void TakeBackTo(uint64_t reserved) { reserved_ = reserved; }
  // All that is reserved.
  void Commit() { head_.store(reserved_, std::memory_order_release); }

  // The taking side: calls visit(record) for up to `most` of the records that are there now. Returns how many.
  template <typename Visit>
  unsigned Drain(unsigned most, Visit visit) {
    unsigned n = 0;
    const uint64_t forgotten = forgotten_.load(std::memory_order_acquire);
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail < forgotten) {
      tail = forgotten;
      tail_.store(tail, std::memory_order_release);
    }
    const uint64_t head = head_.load(std::memory_order_acquire);
    while (tail != head && n < most) {
      uint64_t size;
      std::memcpy(&size, &bytes_[tail & mask_], sizeof size);
      if ((size & kSkipped) == 0) {
        visit(&bytes_[(tail & mask_) + sizeof size]);
        ++n;
      }
      tail += size & ~kSkipped;
      tail_.store(tail, std::memory_order_release);
    }
    return n;
  }

  // What is there now is taken by nobody. One thread at a time, any.
  void Forget() { forgotten_.store(head_.load(std::memory_order_acquire), std::memory_order_release); }

 private:
  static constexpr uint64_t kSkipped = 1;  // in a record's size: there is none, the rest of the ring was too short

  const size_t mask_;
  const std::unique_ptr<std::byte[]> bytes_;
  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t reserved_ = 0;   // the putting side's: where head_ will be
  uint64_t tail_seen_ = 0;  // the putting side's: where tail_ was at least
  alignas(64) std::atomic<uint64_t> tail_{0};
  std::atomic<uint64_t> forgotten_{0};  // records before this are no longer wanted
};

}  // namespace sluice
