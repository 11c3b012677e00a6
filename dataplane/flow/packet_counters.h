// Packets and bytes of something that many workers count at: a cache line each,
// which that worker alone writes by plain stores; readers sum. A sum never goes
// backwards.
//
// Count: worker `worker`. Read: any thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace sluice {

struct PacketCount {
  uint64_t packets = 0;
  uint64_t bytes = 0;

  friend bool operator==(const PacketCount&, const PacketCount&) = default;
};

class PacketCounters {
 public:
  explicit PacketCounters(unsigned workers) : workers_(workers), lines_(std::make_unique<Line[]>(workers)) {}

  void Count(unsigned worker, uint64_t bytes) {
    Line& line = lines_[worker];
    line.packets.store(line.packets.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    line.bytes.store(line.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  PacketCount Read() const {
    PacketCount sum;
    for (unsigned i = 0; i < workers_; ++i) {
      sum.packets += lines_[i].packets.load(std::memory_order_relaxed);
      sum.bytes += lines_[i].bytes.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct alignas(64) Line {
    std::atomic<uint64_t> packets{0};
    std::atomic<uint64_t> bytes{0};
  };

  const unsigned workers_;
  const std::unique_ptr<Line[]> lines_;
};

}  // namespace sluice
