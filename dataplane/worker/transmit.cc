#include "dataplane/worker/transmit.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <bit>
#include <cstring>

#include "dataplane/port/buffers.h"

namespace sluice {
namespace {

// The frame in one buffer; null if there is none. Takes the frame.
rte_mbuf* InOneBuffer(rte_mbuf* mbuf, rte_mempool* pool) {
  rte_mbuf* whole = NewBuffer(pool);
  const auto length = static_cast<uint16_t>(mbuf->pkt_len);
  char* bytes = whole != nullptr ? rte_pktmbuf_append(whole, length) : nullptr;
  if (bytes == nullptr) {
    FreeBuffer(whole);
    FreeBuffer(mbuf);
    return nullptr;
  }
  for (const rte_mbuf* segment = mbuf; segment != nullptr; segment = segment->next) {
    std::memcpy(bytes, rte_pktmbuf_mtod(segment, const char*), segment->data_len);
    bytes += segment->data_len;
  }
  FreeBuffer(mbuf);
  return whole;
}

void HandOver(rte_ring* ring, rte_mbuf** mbufs, unsigned n, PortCounters& counters) {
  const unsigned taken = rte_ring_mp_enqueue_burst(ring, reinterpret_cast<void**>(mbufs), n, nullptr);
  if (taken == n) return;
  counters.drop_tx_full.Add(n - taken);
  FreeBuffers(mbufs + taken, n - taken);
}

}  // namespace

void TransmitAll(Port& port, uint16_t queue, rte_mbuf** mbufs, unsigned n, PortCounters& counters) {
  // Before they are sent: what the port has taken may be gone.
  uint64_t bytes = 0;
  for (unsigned i = 0; i < n; ++i) bytes += mbufs[i]->pkt_len;
  const unsigned sent = port.Transmit(queue, mbufs, static_cast<uint16_t>(n));
  for (unsigned i = sent; i < n; ++i) bytes -= mbufs[i]->pkt_len;
  counters.transmit_packets.Add(sent);
  counters.transmit_bytes.Add(bytes);
  if (sent == n) return;
  counters.drop_tx_full.Add(n - sent);
  FreeBuffers(mbufs + sent, n - sent);
}

void Transmitter::CountUnfit(const PortView& view) {
  (view.enabled ? CountersOf(view).drop_mtu : CountersOf(view).drop_down).Add(1);
}

// What may not fit, and what must be put into one buffer first.
void Transmitter::SendOther(const PortView& view, uint8_t port, rte_mbuf* mbuf, unsigned tags) {
  if (!Fits(view, mbuf->pkt_len, tags)) {
    CountUnfit(view);
    FreeBuffer(mbuf);
    return;
  }
  if (mbuf->nb_segs == 1 || view.takes_segments) return Enqueue(view, port, mbuf);
  mbuf = InOneBuffer(mbuf, pool_);
  if (mbuf != nullptr) {
    Enqueue(view, port, mbuf);
  } else {
    CountersOf(view).drop_no_buffers.Add(1);
  }
}

void Transmitter::SendCopy(const PortView& view, uint8_t port, const rte_mbuf* mbuf, unsigned tags) {
  if (!Fits(view, mbuf->pkt_len, tags)) return CountUnfit(view);
  rte_mbuf* copy = CopyBuffer(mbuf, pool_);
  if (copy == nullptr) {
    CountersOf(view).drop_no_buffers.Add(1);
    return;
  }
  Send(view, port, copy, tags);
}

void Transmitter::FlushPort(const PortView& view, Stage& stage) {
  AttachedPort& port = *view.attached;
  const unsigned n = stage.count;
  stage.count = 0;
  if (n == 0) return;
  if (port.hand_over == nullptr) {
    TransmitAll(*port.port, static_cast<uint16_t>(worker_), stage.mbufs.data(), n, CountersOf(view));
  } else if (port.tx_owner == worker_) {
    TransmitAll(*port.port, 0, stage.mbufs.data(), n, CountersOf(view));
  } else {
    HandOver(port.hand_over.get(), stage.mbufs.data(), n, CountersOf(view));
  }
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
    TransmitAll(*port.port, 0, mbufs.data(), n, port.counters[worker_]);
    moved += n;
  }
  return moved;
}

}  // namespace sluice
