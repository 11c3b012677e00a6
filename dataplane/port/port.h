// A port as the packet loop sees it: queues that give and take bursts of frames.
//
// One virtual call a burst. Queue q of either direction is used by one thread at
// a time; which, is decided by engine.h.

#pragma once

#include <cstdint>

struct rte_mbuf;

namespace sluice {

class Port {
 public:
  struct Traits {
    uint16_t rx_queues = 1;
    uint16_t tx_queues = 1;
    bool takes_segments = true;       // sends frames that lie in several mbufs
    uint32_t max_frame = UINT32_MAX;  // bytes of the longest frame it can send
  };

  explicit Port(const Traits& traits) : traits_(traits) {}
  virtual ~Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  const Traits& traits() const { return traits_; }

  // Up to n frames, which the caller owns from then on.
  virtual uint16_t Receive(uint16_t queue, rte_mbuf** mbufs, uint16_t n) = 0;
  // Takes the first k of n frames and returns k; the others stay the caller's.
  virtual uint16_t Transmit(uint16_t queue, rte_mbuf** mbufs, uint16_t n) = 0;

  // A file that can be read from as long as frames wait in the receive queue; -1
  // if the device has none. Valid as long as the port is attached.
  virtual int WakeFd(uint16_t) const { return -1; }

 private:
  const Traits traits_;
};

}  // namespace sluice
