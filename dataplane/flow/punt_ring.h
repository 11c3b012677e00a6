// Copies of packets on their way from a worker to whoever listens (packet-in).
//
// A bounded ring of bytes, all of it there from the start: each packet is a
// record, what is known about it and the bytes that are kept. When nobody
// listens, a worker reads one flag that nobody writes, and does no more; when the
// ring is full the packet is not copied. Nobody is woken: who drains comes by.
//
// One thread puts (a worker), one drains; listening: any control thread.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace sluice {

enum class PuntReason : uint8_t {
  kAction,     // a flow's action
  kNoMatch,    // no flow of a table matched, and its miss policy says so
  kActionSet,  // an action that the packet had gathered in its action set
  kGroup,      // a bucket's action
};

struct PuntedPacket {
  int64_t time_unix_ns = 0;
  uint64_t flow_id = 0;  // 0: none
  uint64_t metadata = 0;
  std::array<uint32_t, 8> registers{};
  uint32_t in_port = 0;  // 0: none, it came from a packet-out
  uint32_t length = 0;   // of the whole packet as it is, in bytes
  uint32_t kept = 0;     // of these, those that are here
  uint8_t table_id = 0;
  PuntReason reason = PuntReason::kAction;
};

enum class PuntResult : uint8_t { kPut, kNobodyListens, kFull };

class PuntRing {
 public:
  static constexpr size_t kDefaultBytes = 1 << 20;

  // A power of two.
  explicit PuntRing(size_t bytes = kDefaultBytes);

  // The worker: copy(bytes) writes packet.kept bytes.
  template <typename Copy>
  PuntResult Put(const PuntedPacket& packet, Copy copy) {
    if (!listening_.load(std::memory_order_relaxed)) return PuntResult::kNobodyListens;
    std::byte* at = Reserve(sizeof packet + packet.kept);
    if (at == nullptr) return PuntResult::kFull;
    std::memcpy(at, &packet, sizeof packet);
    copy(reinterpret_cast<uint8_t*>(at + sizeof packet));
    head_.store(reserved_, std::memory_order_release);
    return PuntResult::kPut;
  }

  // The drainer: calls visit(packet, bytes) for up to `most` packets. Returns how many.
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
        PuntedPacket packet;
        const std::byte* at = &bytes_[(tail & mask_) + sizeof size];
        std::memcpy(&packet, at, sizeof packet);
        visit(packet, std::span(reinterpret_cast<const uint8_t*>(at + sizeof packet), packet.kept));
        ++n;
      }
      tail += size & ~kSkipped;
      tail_.store(tail, std::memory_order_release);
    }
    return n;
  }

  // Who begins to listen is not given what earlier listeners have left.
  void Listen(bool listen) {
    if (listen && !listening()) forgotten_.store(head_.load(std::memory_order_acquire), std::memory_order_release);
    listening_.store(listen, std::memory_order_relaxed);
  }
  bool listening() const { return listening_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kSkipped = 1;  // in a record's size: there is no packet, the rest of the ring was too short

  // Room for a record of so many bytes in one piece; null if there is none.
  std::byte* Reserve(size_t bytes);

  const size_t mask_;
  const std::unique_ptr<std::byte[]> bytes_;
  alignas(64) std::atomic<bool> listening_{false};
  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t reserved_ = 0;   // the worker's: where head_ will be
  uint64_t tail_seen_ = 0;  // the worker's: where tail_ was at least
  alignas(64) std::atomic<uint64_t> tail_{0};
  std::atomic<uint64_t> forgotten_{0};  // records before this are not for those who listen now
};

}  // namespace sluice
