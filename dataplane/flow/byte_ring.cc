#include "dataplane/flow/byte_ring.h"

namespace sluice {

ByteRing::ByteRing(size_t bytes) : mask_(bytes - 1), bytes_(std::make_unique<std::byte[]>(bytes)) {}

std::byte* ByteRing::Reserve(size_t bytes) {
  const size_t capacity = mask_ + 1;
  const uint64_t head = reserved_;
  const uint64_t size = (sizeof(uint64_t) + bytes + 7) & ~uint64_t{7};
  const uint64_t to_end = capacity - (head & mask_);
  const uint64_t skipped = size > to_end ? to_end : 0;
  if (head + skipped + size - tail_seen_ > capacity) {
    tail_seen_ = tail_.load(std::memory_order_acquire);
    if (head + skipped + size - tail_seen_ > capacity) return nullptr;
  }
  if (skipped != 0) {
    const uint64_t mark = skipped | kSkipped;
    std::memcpy(&bytes_[head & mask_], &mark, sizeof mark);
  }
  std::byte* at = &bytes_[(head + skipped) & mask_];
  std::memcpy(at, &size, sizeof size);
  reserved_ = head + skipped + size;
  return at + sizeof size;
}

}  // namespace sluice
