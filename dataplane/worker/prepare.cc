#include "dataplane/worker/prepare.h"

#include <rte_ether.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>

#include "dataplane/packet/parse.h"
#include "dataplane/port/buffers.h"

namespace sluice {
namespace {

// Everything that a driver may have noted belongs to the port of entry, but for
// where the bytes lie.
constexpr uint64_t kKeptFlags = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;

// A device that took a tag out and cannot be kept from it.
bool RestoreTag(rte_mbuf*& mbuf) {
  if ((mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0) return true;
  return rte_vlan_insert(&mbuf) == 0;
}

using Parser = ParseResult (*)(const Frame&, uint32_t, PacketKey&, HeaderLayout&);

template <Parser parse>
ParseResult ParsePulled(rte_mbuf* mbuf, uint32_t in_port, PacketKey& key, HeaderLayout& layout) {
  ParseResult result = parse(FrameOf(mbuf), in_port, key, layout);
  if (result == ParseResult::kNeedMore && PullIntoFirst(mbuf)) result = parse(FrameOf(mbuf), in_port, key, layout);
  return result;
}

template <Parser parse>
void PrepareWith(Burst& burst, uint32_t in_port) {
  for (unsigned i = 0; i < burst.count; ++i) rte_prefetch0(rte_pktmbuf_mtod(burst.mbufs[i], void*));
  burst.totals.received += burst.count;
  unsigned kept = 0;
  for (unsigned i = 0; i < burst.count; ++i) {
    rte_mbuf* mbuf = burst.mbufs[i];
    const bool whole = RestoreTag(mbuf);
    mbuf->ol_flags &= kKeptFlags;
    burst.received_bytes += mbuf->pkt_len;
    const ParseResult result =
        whole ? ParsePulled<parse>(mbuf, in_port, burst.keys[kept], burst.layouts[kept]) : ParseResult::kNeedMore;
    if (result == ParseResult::kNeedMore) {
      burst.Drop(mbuf, DropReason::kNoBuffers);
      continue;
    }
    burst.totals.malformed += result != ParseResult::kOk;
    if (result == ParseResult::kTooShort) {
      burst.Drop(mbuf, DropReason::kMalformed);
      continue;
    }
    burst.mbufs[kept] = mbuf;
    burst.bytes[kept] = mbuf->pkt_len;
    ++kept;
  }
  burst.count = kept;
}

}  // namespace

bool PullIntoFirst(rte_mbuf* mbuf) {
  uint32_t room = rte_pktmbuf_tailroom(mbuf);
  bool pulled = false;
  while (rte_mbuf* next = mbuf->next) {
    const auto n = static_cast<uint16_t>(std::min<uint32_t>(room, next->data_len));
    std::memcpy(rte_pktmbuf_mtod_offset(mbuf, uint8_t*, mbuf->data_len), rte_pktmbuf_mtod(next, uint8_t*), n);
    mbuf->data_len += n;
    next->data_off += n;
    next->data_len -= n;
    room -= n;
    pulled = pulled || n != 0;
    if (next->data_len != 0) break;
    mbuf->next = next->next;
    --mbuf->nb_segs;
    next->next = nullptr;
    FreeBuffer(next);
  }
  return pulled;
}

void RestoreTags(Burst& burst) {
  for (unsigned i = 0; i < burst.count; ++i) RestoreTag(burst.mbufs[i]);
}

void ParseAgain(rte_mbuf* mbuf, uint32_t in_port, PacketKey& key, HeaderLayout& layout) {
  ParsePulled<Parse>(mbuf, in_port, key, layout);
}

void Prepare(Burst& burst, uint32_t in_port, bool beyond_link) {
  beyond_link ? PrepareWith<Parse>(burst, in_port) : PrepareWith<ParseLink>(burst, in_port);
}

}  // namespace sluice
