#include "tests/support/memory_port.h"

#include <rte_mbuf.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/port/buffers.h"

namespace sluice {
namespace {

// Null if the pool is empty.
rte_mbuf* NewSegment(rte_mempool* pool, const uint8_t* bytes, size_t length) {
  rte_mbuf* mbuf = NewBuffer(pool);
  if (mbuf == nullptr) return nullptr;
  char* room = rte_pktmbuf_append(mbuf, static_cast<uint16_t>(length));
  if (room == nullptr) abort();  // the test's cuts leave too much for one buffer
  if (length != 0) std::memcpy(room, bytes, length);
  return mbuf;
}

rte_mbuf* NewFrame(rte_mempool* pool, const MemoryFrame& frame) {
  std::vector<size_t> ends = frame.cuts;
  ends.push_back(frame.bytes.size());
  rte_mbuf* first = nullptr;
  size_t begin = 0;
  for (const size_t end : ends) {
    rte_mbuf* segment = NewSegment(pool, frame.bytes.data() + begin, end - begin);
    if (segment == nullptr) {
      FreeBuffer(first);
      return nullptr;
    }
    if (first == nullptr) {
      first = segment;
    } else if (rte_pktmbuf_chain(first, segment) != 0) {
      abort();
    }
    begin = end;
  }
  if (frame.headroom) {
    std::memmove(static_cast<uint8_t*>(first->buf_addr) + *frame.headroom, rte_pktmbuf_mtod(first, void*),
                 first->data_len);
    first->data_off = *frame.headroom;
  }
  if (frame.stripped_tci) {
    first->vlan_tci = *frame.stripped_tci;
    first->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
  }
  return first;
}

Bytes BytesOf(const rte_mbuf* mbuf) {
  Bytes bytes;
  for (; mbuf != nullptr; mbuf = mbuf->next) {
    const auto* begin = rte_pktmbuf_mtod(mbuf, const uint8_t*);
    bytes.insert(bytes.end(), begin, begin + mbuf->data_len);
  }
  return bytes;
}

}  // namespace

MemoryPort::MemoryPort(rte_mempool* pool, const Traits& traits, bool wakes)
    : Port(traits), pool_(pool), waiting_(traits.rx_queues) {
  for (uint16_t queue = 0; wakes && queue < traits.rx_queues; ++queue) wakes_.push_back(eventfd(0, EFD_NONBLOCK));
}

MemoryPort::~MemoryPort() {
  for (const int fd : wakes_) close(fd);
}

void MemoryPort::Deliver(MemoryFrame frame, uint16_t queue) {
  const std::lock_guard lock(mutex_);
  waiting_.at(queue).push_back(std::move(frame));
  if (!wakes_.empty()) eventfd_write(wakes_.at(queue), 1);
}

size_t MemoryPort::Waiting() const {
  const std::lock_guard lock(mutex_);
  size_t n = 0;
  for (const auto& queue : waiting_) n += queue.size();
  return n;
}

std::vector<Bytes> MemoryPort::TakeSent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sent_, {});
}

size_t MemoryPort::SentCount() const {
  const std::lock_guard lock(mutex_);
  return sent_count_;
}

std::vector<unsigned> MemoryPort::SentSegments() const {
  const std::lock_guard lock(mutex_);
  return segments_;
}

void MemoryPort::SetRoom(size_t frames) {
  const std::lock_guard lock(mutex_);
  room_ = frames;
}

void MemoryPort::KeepNothing() {
  const std::lock_guard lock(mutex_);
  keep_ = false;
}

uint16_t MemoryPort::Receive(uint16_t queue, rte_mbuf** mbufs, uint16_t n) {
  const std::lock_guard lock(mutex_);
  std::deque<MemoryFrame>& waiting = waiting_.at(queue);
  uint16_t received = 0;
  while (received < n && !waiting.empty()) {
    rte_mbuf* mbuf = NewFrame(pool_, waiting.front());
    if (mbuf == nullptr) break;
    mbufs[received++] = mbuf;
    waiting.pop_front();
  }
  eventfd_t ignored = 0;
  if (waiting.empty() && !wakes_.empty()) eventfd_read(wakes_.at(queue), &ignored);
  return received;
}

uint16_t MemoryPort::Transmit(uint16_t, rte_mbuf** mbufs, uint16_t n) {
  const std::lock_guard lock(mutex_);
  const auto taken = static_cast<uint16_t>(std::min<size_t>(n, room_));
  for (uint16_t i = 0; i < taken; ++i) {
    rte_mbuf_sanity_check(mbufs[i], 1);
    if (keep_) {
      sent_.push_back(BytesOf(mbufs[i]));
      segments_.push_back(mbufs[i]->nb_segs);
    }
    FreeBuffer(mbufs[i]);
  }
  sent_count_ += taken;
  if (room_ != SIZE_MAX) room_ -= taken;
  return taken;
}

}  // namespace sluice
