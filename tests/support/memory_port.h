// A port in memory: tests put frames in and look at what was sent.
//
// Frames come out of Receive in buffers of a pool, whole or cut into segments.
// All functions: any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "dataplane/port/port.h"
#include "tests/support/packet_builder.h"

struct rte_mempool;

namespace sluice {

struct MemoryFrame {
  Bytes bytes;
  std::vector<size_t> cuts = {};              // offsets at which a new segment begins
  std::optional<uint16_t> stripped_tci = {};  // a tag that the device took out of the bytes
  std::optional<uint16_t> headroom = {};      // instead of the pool's
};

class MemoryPort : public Port {
 public:
  // wakes: it has files that wake a worker.
  explicit MemoryPort(rte_mempool* pool, const Traits& traits = {}, bool wakes = false);
  ~MemoryPort() override;

  void Deliver(Bytes bytes, uint16_t queue = 0) { Deliver(MemoryFrame{.bytes = std::move(bytes)}, queue); }
  void Deliver(MemoryFrame frame, uint16_t queue = 0);
  // Frames that wait to be received.
  size_t Waiting() const;

  // What was sent since the last call, by all queues, in order.
  std::vector<Bytes> TakeSent();
  size_t SentCount() const;
  // Segments of the frames sent, in order; not reset by TakeSent.
  std::vector<unsigned> SentSegments() const;
  // How many more frames it will take; unlimited at first.
  void SetRoom(size_t frames);
  // From now on sent frames are counted, not kept.
  void KeepNothing();

  uint16_t Receive(uint16_t queue, rte_mbuf** mbufs, uint16_t n) override;
  uint16_t Transmit(uint16_t queue, rte_mbuf** mbufs, uint16_t n) override;
  int WakeFd(uint16_t queue) const override { return wakes_.empty() ? -1 : wakes_.at(queue); }

 private:
  rte_mempool* const pool_;
  std::vector<int> wakes_;    // by queue; empty: none
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::deque<MemoryFrame>> waiting_;
  std::vector<Bytes> sent_;
  std::vector<unsigned> segments_;
  size_t sent_count_ = 0;
  size_t room_ = SIZE_MAX;
  bool keep_ = true;
};

}  // namespace sluice
