// Packet buffers from and to the pool.
//
// In ordinary builds these are DPDK's own calls. DPDK's libraries are not built
// for ThreadSanitizer: it does not see that a buffer which one thread puts into a
// pool, a ring or a device comes out in another. Its builds are told so here, a
// buffer at a time, so that it finds what is wrong and nothing else.

#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <span>

#if defined(__SANITIZE_THREAD__)
#define SLUICE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_THREAD_SANITIZER
#endif
#endif

#ifdef SLUICE_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace sluice {

// This thread is done with the buffers; whoever gets them next sees what it did.
inline void PartWith([[maybe_unused]] rte_mbuf* const* mbufs, [[maybe_unused]] unsigned n) {
#ifdef SLUICE_THREAD_SANITIZER
  for (unsigned i = 0; i < n; ++i) {
    for (rte_mbuf* segment = mbufs[i]; segment != nullptr; segment = segment->next) __tsan_release(segment);
  }
#endif
}

// The other end of PartWith.
inline void TakeUp([[maybe_unused]] rte_mbuf* const* mbufs, [[maybe_unused]] unsigned n) {
#ifdef SLUICE_THREAD_SANITIZER
  for (unsigned i = 0; i < n; ++i) {
    for (rte_mbuf* segment = mbufs[i]; segment != nullptr; segment = segment->next) __tsan_acquire(segment);
  }
#endif
}

inline void FreeBuffers(rte_mbuf** mbufs, unsigned n) {
  PartWith(mbufs, n);
  rte_pktmbuf_free_bulk(mbufs, n);
}

// A frame with all its segments; or null.
inline void FreeBuffer(rte_mbuf* mbuf) {
#ifdef SLUICE_THREAD_SANITIZER
  if (mbuf != nullptr) FreeBuffers(&mbuf, 1);
#else
  rte_pktmbuf_free(mbuf);
#endif
}

// Null if the pool is empty.
inline rte_mbuf* NewBuffer(rte_mempool* pool) {
  rte_mbuf* mbuf = rte_mbuf_raw_alloc(pool);
  if (mbuf == nullptr) return nullptr;
#ifdef SLUICE_THREAD_SANITIZER
  __tsan_acquire(mbuf);
#endif
  rte_pktmbuf_reset(mbuf);
  return mbuf;
}

// A frame with these bytes, in as many buffers as it takes; null if the pool has too few.
inline rte_mbuf* NewBufferWith(std::span<const uint8_t> bytes, rte_mempool* pool) {
  rte_mbuf* const head = NewBuffer(pool);
  for (rte_mbuf* tail = head; tail != nullptr;) {
    const auto n = static_cast<uint16_t>(std::min<size_t>(rte_pktmbuf_tailroom(tail), bytes.size()));
    std::copy_n(bytes.data(), n, rte_pktmbuf_mtod(tail, uint8_t*));
    tail->data_len = n;
    head->pkt_len += n;
    bytes = bytes.subspan(n);
    if (bytes.empty()) return head;
    tail->next = NewBuffer(pool);
    tail = tail->next;
    head->nb_segs += tail != nullptr;
  }
  FreeBuffer(head);
  return nullptr;
}

// A whole copy of a frame; null if the pool has too few buffers.
inline rte_mbuf* CopyBuffer(const rte_mbuf* mbuf, rte_mempool* pool) {
  rte_mbuf* copy = rte_pktmbuf_copy(mbuf, pool, 0, UINT32_MAX);
  if (copy != nullptr) TakeUp(&copy, 1);
  return copy;
}

}  // namespace sluice
