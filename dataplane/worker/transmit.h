// Frames on their way out: staged by port in the order in which they were sent,
// flushed at the end of the burst.
//
// What a port cannot take is lost there and then, and counted at the port: it is
// disabled (down), the frame is too long (mtu), there is no buffer for a copy
// (no_buffers), or the device's queue or the hand-over ring is full (tx_full).
// Captures see both what devices took and what was lost.
// Nothing is tried twice: a worker never waits for a device.
//
// One a worker, used by that worker only.

#pragma once

#include <array>
#include <cstdint>

#include "dataplane/worker/burst.h"
#include "dataplane/worker/capture_tap.h"
#include "dataplane/worker/snapshot.h"

struct rte_mempool;

namespace sluice {

class Transmitter {
 public:
  // The tap outlives it; null: nobody ever captures.
  Transmitter(unsigned worker, rte_mempool* pool, CaptureTap* tap = nullptr)
      : worker_(worker), pool_(pool), tap_(tap) {}

  // `view` is that of snapshot.ports[port], as everywhere. Takes the frame. `tags`: VLAN tags that the MTU does not
  // count.
  void Send(const PortView& view, uint8_t port, rte_mbuf* mbuf, unsigned tags) {
    if (mbuf->pkt_len <= view.plain_frame && mbuf->nb_segs == 1) [[likely]] {
      Enqueue(view, port, mbuf);
    } else {
      SendOther(view, port, mbuf, tags);
    }
  }
  // Sends a copy; the frame stays the caller's.
  void SendCopy(const PortView& view, uint8_t port, const rte_mbuf* mbuf, unsigned tags);
  // Hands all staged frames to their ports, or to the workers that own these.
  void Flush(const Snapshot& snapshot);
  // Sends what other workers put into the rings that this one owns. Returns how many frames.
  unsigned EmptyHandOvers(const Snapshot& snapshot);

 private:
  struct Stage {
    unsigned count = 0;
    std::array<rte_mbuf*, kBatch> mbufs;
  };

  PortCounters& CountersOf(const PortView& view) { return view.attached->counters[worker_]; }
  static bool Fits(const PortView& view, uint32_t length, unsigned tags) {
    constexpr uint32_t kVlanTag = 4;
    return view.enabled && length <= view.max_frame && length <= view.mtu + PortView::kEthernetHeader + kVlanTag * tags;
  }
  void Enqueue(const PortView& view, uint8_t port, rte_mbuf* mbuf) {
    Stage& stage = stages_[port];
    stage.mbufs[stage.count++] = mbuf;
    staged_ |= 1u << port;
    if (stage.count == stage.mbufs.size()) FlushPort(view, stage);
  }
  // What the port cannot take; the frames stay the caller's.
  void Lose(const PortView& view, const rte_mbuf* const* mbufs, unsigned n, PortLoss loss);
  void LoseUnfit(const PortView& view, const rte_mbuf* mbuf);
  CaptureTap* TapIfOn() const { return tap_ != nullptr && tap_->on() ? tap_ : nullptr; }
  void SendOther(const PortView& view, uint8_t port, rte_mbuf* mbuf, unsigned tags);
  void FlushPort(const PortView& view, Stage& stage);
  void HandOver(const PortView& view, rte_mbuf** mbufs, unsigned n);

  const unsigned worker_;
  rte_mempool* const pool_;
  CaptureTap* const tap_;
  uint32_t staged_ = 0;  // bit i: stages_[i] holds something
  std::array<Stage, Dataplane::kMaxPorts> stages_{};
};

// Gives n frames to the port's queue, counts, and frees what it does not take; the
// tap, if there is one, sees what became of them. Also for the control side, of
// ports that no worker uses any more.
void TransmitAll(AttachedPort& port, uint16_t queue, rte_mbuf** mbufs, unsigned n, PortCounters& counters,
                 CaptureTap* tap);

}  // namespace sluice
