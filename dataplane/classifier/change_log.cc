#include "dataplane/classifier/change_log.h"

#include <algorithm>
#include <bit>

namespace sluice {
namespace {

// Bytes of the key in the order in which they get slices: addresses and ports
// tell flows apart best; what all flows of a table mostly share comes last.
constexpr std::array<uint8_t, 20> kWordOrder = {3, 4, 1, 2, 8, 9, 10, 11, 17, 18, 19, 20, 16, 12, 13, 14, 15, 5, 6, 0};

uint8_t ByteOf(const PacketKey& key, size_t i) { return reinterpret_cast<const uint8_t*>(&key)[i]; }

template <typename Fn>
void ForEachByte(Fn fn) {
  for (const uint8_t word : kWordOrder) {
    for (unsigned i = 0; i < sizeof(uint64_t); ++i) fn(static_cast<uint8_t>(word * sizeof(uint64_t) + i));
  }
}

}  // namespace

void RecentFlows::Set(Bits& bits, unsigned flow) {
  std::atomic<uint64_t>& word = bits[flow / 64];
  word.store(word.load(std::memory_order_relaxed) | uint64_t{1} << (flow % 64), std::memory_order_relaxed);
}

// A flow that came before a slice does not look at its byte.
void RecentFlows::OpenSlices(const PacketKey& mask) {
  uint32_t n = slice_count_.load(std::memory_order_relaxed);
  ForEachByte([&](uint8_t byte) {
    if (n == kSlices || ByteOf(mask, byte) == 0 || sliced_[byte]) return;
    sliced_.set(byte);
    bytes_[n] = byte;
    for (unsigned flow = 0; flow < count_; ++flow) Set(slices_[n].regardless, flow);
    ++n;
  });
  slice_count_.store(n, std::memory_order_release);
}

void RecentFlows::Add(const PacketKey& value, const PacketKey& mask, uint64_t rank, uint64_t version) {
  OpenSlices(mask);
  const unsigned flow = count_++;
  versions_[flow].store(version, std::memory_order_relaxed);
  ranks_[flow].store(rank, std::memory_order_relaxed);
  const uint32_t n = slice_count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < n; ++i) {
    const unsigned wanted = ByteOf(value, bytes_[i]);
    const unsigned looked_at = ByteOf(mask, bytes_[i]);
    if (looked_at == 0) {
      Set(slices_[i].regardless, flow);
      continue;
    }
    // Every value of the bits that are not looked at.
    const unsigned others = ~looked_at & 0xff;
    for (unsigned rest = others;; rest = (rest - 1) & others) {
      Set(slices_[i].by_value[wanted | rest], flow);
      if (rest == 0) break;
    }
  }
  last_version_.store(version, std::memory_order_release);
}

bool RecentFlows::MayBeat(const PacketKey& key, uint64_t since, uint64_t rank) const {
  std::array<uint64_t, kWords> left;
  left.fill(~uint64_t{0});
  const uint32_t n = slice_count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < n; ++i) {
    const Slice& slice = slices_[i];
    const Bits& suited = slice.by_value[ByteOf(key, bytes_[i])];
    uint64_t any = 0;
    for (unsigned w = 0; w < kWords; ++w) {
      left[w] &= suited[w].load(std::memory_order_relaxed) | slice.regardless[w].load(std::memory_order_relaxed);
      any |= left[w];
    }
    if (any == 0) return false;
  }
  for (unsigned w = 0; w < kWords; ++w) {
    for (uint64_t bits = left[w]; bits != 0; bits &= bits - 1) {
      const unsigned flow = 64 * w + static_cast<unsigned>(std::countr_zero(bits));
      if (versions_[flow].load(std::memory_order_relaxed) > since &&
          ranks_[flow].load(std::memory_order_relaxed) > rank) {
        return true;
      }
    }
  }
  return false;
}

ChangeLog::~ChangeLog() {
  for (const auto& page : pages_) delete page.load(std::memory_order_relaxed);
}

bool ChangeLog::MayBeat(const PacketKey& key, uint64_t since, uint64_t rank) const {
  const uint64_t newest = newest_.load(std::memory_order_acquire);
  for (uint64_t number = newest; number > 0; --number) {
    if (newest - number == kPages) return true;
    const RecentFlows* page = pages_[number % kPages].load(std::memory_order_acquire);
    if (page->number != number) return true;  // replaced meanwhile
    if (page->last_version() <= since) return false;
    if (page->MayBeat(key, since, rank)) return true;
  }
  return false;
}

void ChangeLog::Add(const PacketKey& value, const PacketKey& mask, uint64_t rank, uint64_t version, Garbage& garbage) {
  of_this_version_ = version == version_ ? of_this_version_ + 1 : 1;
  version_ = version;
  // So many that asking costs more than looking up.
  if (of_this_version_ > kMostOfOneVersion) return RaiseHorizon(version);
  uint64_t newest = newest_.load(std::memory_order_relaxed);
  RecentFlows* page = pages_[newest % kPages].load(std::memory_order_relaxed);
  if (page != nullptr && !page->full()) return page->Add(value, mask, rank, version);
  page = new RecentFlows(++newest);
  // Before workers find the page: an empty one would look older than what lies behind it.
  page->Add(value, mask, rank, version);
  auto& place = pages_[newest % kPages];
  std::unique_ptr<RecentFlows> old(place.load(std::memory_order_relaxed));
  if (old != nullptr) RaiseHorizon(std::max(horizon(), old->last_version()));
  place.store(page, std::memory_order_release);
  newest_.store(newest, std::memory_order_release);
  garbage.Add(std::move(old));
}

void ChangeLog::RaiseHorizon(uint64_t version) {
  if (version > horizon_.load(std::memory_order_relaxed)) horizon_.store(version, std::memory_order_release);
}

}  // namespace sluice
