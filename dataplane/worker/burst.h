// A burst of packets on its way through the stages of a worker.
//
// Arrays by packet, in order of arrival; a stage that drops packets closes the
// gap. One for each worker; nothing in it outlives the burst.

#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "dataplane/classifier/classifier.h"
#include "dataplane/dataplane.h"
#include "dataplane/packet/frame.h"
#include "dataplane/packet/key.h"
#include "dataplane/port/buffers.h"
#include "dataplane/worker/capture_tap.h"

namespace sluice {

struct Burst {
  unsigned count = 0;
  std::array<rte_mbuf*, kBatch> mbufs;
  std::array<HeaderLayout, kBatch> layouts;
  std::array<uint32_t, kBatch> bytes;    // as received
  std::array<PacketKey, kBatch> keys{};  // each packet's begins with line 2 zero
  std::array<const ClassifierEntry*, kBatch> entries;
  PacketTotals totals;
  uint64_t received_bytes = 0;
  CaptureTap* tap = nullptr;  // null: nobody captures

  void Drop(rte_mbuf* mbuf, DropReason reason) {
    ++totals.drops[static_cast<int>(reason)];
    if (tap != nullptr) [[unlikely]]
      tap->Drop(mbuf, reason);
    FreeBuffer(mbuf);
  }
};

// The first segment as packet/ sees it, and back.
inline Frame FrameOf(const rte_mbuf* mbuf) {
  return {.data = rte_pktmbuf_mtod(mbuf, uint8_t*),
          .length = mbuf->data_len,
          .total = mbuf->pkt_len,
          .headroom = mbuf->data_off};
}

inline void PutFrame(rte_mbuf* mbuf, const Frame& frame) {
  mbuf->data_off = static_cast<uint16_t>(frame.headroom);
  mbuf->data_len = static_cast<uint16_t>(frame.length);
  mbuf->pkt_len = frame.total;
}

}  // namespace sluice
