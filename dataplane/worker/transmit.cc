#include "dataplane/worker/transmit.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <bit>
#include <cstring>

#include "dataplane/port/buffers.h"

namespace sluice {
namespace {

// A copy of the frame in one buffer; null if there is none.
rte_mbuf* InOneBuffer(const rte_mbuf* mbuf, rte_mempool* pool) {
  rte_mbuf* whole = NewBuffer(pool);
  const auto length = static_cast<uint16_t>(mbuf->pkt_len);
  char* bytes = whole != nullptr ? rte_pktmbuf_append(whole, length) : nullptr;
  if (bytes == nullptr) {
    FreeBuffer(whole);
    return nullptr;
  }
  for (const rte_mbuf* segment = mbuf; segment != nullptr; segment = segment->next) {
    std::memcpy(bytes, rte_pktmbuf_mtod(segment, const char*), segment->data_len);
    bytes += segment->data_len;
  }
  return whole;
}

unsigned TransmitTapped(AttachedPort& port, uint16_t queue, rte_mbuf** mbufs, unsigned n, CaptureTap& tap) {
  tap.Send(port.number, mbufs, n);
  const unsigned sent = port.port->Transmit(queue, mbufs, static_cast<uint16_t>(n));
  tap.Sent(sent);
  if (sent != n) tap.Lose(port.number, mbufs + sent, n - sent, PortLoss::kTxFull);
  return sent;
}

}  // namespace

void TransmitAll(AttachedPort& port, uint16_t queue, rte_mbuf** mbufs, unsigned n, PortCounters& counters,
                 CaptureTap* tap) {
  // Before they are sent: what the port has taken may be gone.
  uint64_t bytes = 0;
  for (unsigned i = 0; i < n; ++i) bytes += mbufs[i]->pkt_len;
  const unsigned sent = tap == nullptr ? port.port->Transmit(queue, mbufs, static_cast<uint16_t>(n))
                                       : TransmitTapped(port, queue, mbufs, n, *tap);
  for (unsigned i = sent; i < n; ++i) bytes -= mbufs[i]->pkt_len;
  counters.transmit_packets.Add(sent);
  counters.transmit_bytes.Add(bytes);
  if (sent == n) return;
  counters.drop_tx_full.Add(n - sent);
  FreeBuffers(mbufs + sent, n - sent);
}

void Transmitter::Lose(const PortView& view, const rte_mbuf* const* mbufs, unsigned n, PortLoss loss) {
  PortCounters& counters = CountersOf(view);
  switch (loss) {
    case PortLoss::kDown:
      counters.drop_down.Add(n);
      break;
    case PortLoss::kMtu:
      counters.drop_mtu.Add(n);
      break;
    case PortLoss::kTxFull:
      counters.drop_tx_full.Add(n);
      break;
    case PortLoss::kNoBuffers:
      counters.drop_no_buffers.Add(n);
      break;
  }
  if (CaptureTap* tap = TapIfOn()) [[unlikely]]
    tap->Lose(view.number, mbufs, n, loss);
}

void Transmitter::LoseUnfit(const PortView& view, const rte_mbuf* mbuf) {
  Lose(view, &mbuf, 1, view.enabled ? PortLoss::kMtu : PortLoss::kDown);
}

// What may not fit, and what must be put into one buffer first.
void Transmitter::SendOther(const PortView& view, uint8_t port, rte_mbuf* mbuf, unsigned tags) {
  if (!Fits(view, mbuf->pkt_len, tags)) {
    LoseUnfit(view, mbuf);
    FreeBuffer(mbuf);
    return;
  }
  if (mbuf->nb_segs == 1 || view.takes_segments) return Enqueue(view, port, mbuf);
  rte_mbuf* whole = InOneBuffer(mbuf, pool_);
  if (whole != nullptr) {
    Enqueue(view, port, whole);
  } else {
    Lose(view, &mbuf, 1, PortLoss::kNoBuffers);
  }
  FreeBuffer(mbuf);
}

void Transmitter::SendCopy(const PortView& view, uint8_t port, const rte_mbuf* mbuf, unsigned tags) {
  if (!Fits(view, mbuf->pkt_len, tags)) return LoseUnfit(view, mbuf);
  rte_mbuf* copy = CopyBuffer(mbuf, pool_);
  if (copy == nullptr) return Lose(view, &mbuf, 1, PortLoss::kNoBuffers);
  Send(view, port, copy, tags);
}

void Transmitter::FlushPort(const PortView& view, Stage& stage) {
  AttachedPort& port = *view.attached;
  const unsigned n = stage.count;
  stage.count = 0;
  if (n == 0) return;
  if (port.hand_over == nullptr) {
    TransmitAll(port, static_cast<uint16_t>(worker_), stage.mbufs.data(), n, CountersOf(view), TapIfOn());
  } else if (port.tx_owner == worker_) {
    TransmitAll(port, 0, stage.mbufs.data(), n, CountersOf(view), TapIfOn());
  } else {
    HandOver(view, stage.mbufs.data(), n);
  }
}

// Captures see it as sent where its owner sends it.
void Transmitter::HandOver(const PortView& view, rte_mbuf** mbufs, unsigned n) {
  rte_ring* ring = view.attached->hand_over.get();
  const unsigned taken = rte_ring_mp_enqueue_burst(ring, reinterpret_cast<void**>(mbufs), n, nullptr);
  if (taken == n) return;
  Lose(view, mbufs + taken, n - taken, PortLoss::kTxFull);
  FreeBuffers(mbufs + taken, n - taken);
}

void Transmitter::Flush(const Snapshot& snapshot) {
  for (uint32_t rest = staged_; rest != 0; rest &= rest - 1) {
    const int port = std::countr_zero(rest);
    FlushPort(snapshot.ports[port], stages_[port]);
  }
  staged_ = 0;
}

unsigned Transmitter::EmptyHandOvers(const Snapshot& snapshot) {
  unsigned moved = 0;
  for (const uint8_t index : snapshot.hand_overs[worker_]) {
    AttachedPort& port = *snapshot.ports[index].attached;
    std::array<rte_mbuf*, kBatch> mbufs;
    const unsigned n =
        rte_ring_sc_dequeue_burst(port.hand_over.get(), reinterpret_cast<void**>(mbufs.data()), mbufs.size(), nullptr);
    if (n == 0) continue;
    TransmitAll(port, 0, mbufs.data(), n, port.counters[worker_], TapIfOn());
    moved += n;
  }
  return moved;
}

}  // namespace sluice
