// Copies of packets on their way from a worker to whoever listens (packet-in).
//
// Each packet is a record in a bounded ring (byte_ring.h): what is known about it
// and the bytes that are kept. When nobody listens, a worker reads one flag that
// nobody writes, and does no more; when the ring is full the packet is not copied.
//
// One thread puts (a worker), one drains; listening: any control thread.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/flow/byte_ring.h"
#include "dataplane/flow/punt_reason.h"

namespace sluice {

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
  explicit PuntRing(size_t bytes = kDefaultBytes) : ring_(bytes) {}

  // The worker: copy(bytes) writes packet.kept bytes.
  template <typename Copy>
  PuntResult Put(const PuntedPacket& packet, Copy copy) {
    if (!listening_.load(std::memory_order_relaxed)) return PuntResult::kNobodyListens;
    std::byte* at = ring_.Reserve(sizeof packet + packet.kept);
    if (at == nullptr) return PuntResult::kFull;
    std::memcpy(at, &packet, sizeof packet);
    copy(reinterpret_cast<uint8_t*>(at + sizeof packet));
    ring_.Commit();
    return PuntResult::kPut;
  }

  // The drainer: calls visit(packet, bytes) for up to `most` packets. Returns how many.
  template <typename Visit>
  unsigned Drain(unsigned most, Visit visit) {
    return ring_.Drain(most, [&visit](const std::byte* at) {
      PuntedPacket packet;
      std::memcpy(&packet, at, sizeof packet);
      visit(packet, std::span(reinterpret_cast<const uint8_t*>(at + sizeof packet), packet.kept));
    });
  }

  // Who begins to listen is not given what earlier listeners have left.
  void Listen(bool listen) {
    if (listen && !listening()) ring_.Forget();
    listening_.store(listen, std::memory_order_relaxed);
  }
  bool listening() const { return listening_.load(std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<bool> listening_{false};
  ByteRing ring_;
};

}  // namespace sluice
