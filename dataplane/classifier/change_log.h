// What a remembered answer must know of the changes since it was given.
//
// A flow cache (flow_cache.h) holds entries that a lookup found at some version.
// Such an answer still holds at a later one if its entry was not removed, which
// the entry itself says, and if no flow that was added meanwhile both matches
// the packet and has a higher rank. This log answers the second question for
// the last thousand additions, at the price of a few loads: flows are added far
// more often than one of them concerns the packet in hand.
//
// A page of the log has room for 128 flows, each with a bit. For a byte of the
// key that flows look at it has a slice: for each of its 256 values the bits of
// the flows that this value suits. The AND over the slices leaves the flows that
// may match (bit slicing, as in Lakshman and Stiliadis' bit vectors): a superset,
// since a page has 16 slices at most. Bits are set in place before the version
// that shows their flow is published; a bit too many costs a lookup, no more.
//
// What lies before the horizon is forgotten: an answer from there may point to
// memory that is gone. The writer raises the horizon, lets a grace period pass,
// and only then frees what versions up to it removed.
//
// Threads: horizon and MayBeat are the workers'; all else is the writer's.

#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>

#include "dataplane/classifier/garbage.h"
#include "dataplane/packet/key.h"

namespace sluice {

// One page.
class RecentFlows {
 public:
  static constexpr unsigned kFlows = 128;
  static constexpr unsigned kSlices = 16;

  explicit RecentFlows(uint64_t page_number) : number(page_number) {}

  const uint64_t number;

  bool full() const { return count_ == kFlows; }
  void Add(const PacketKey& value, const PacketKey& mask, uint64_t rank, uint64_t version);
  uint64_t last_version() const { return last_version_.load(std::memory_order_relaxed); }
  bool MayBeat(const PacketKey& key, uint64_t since, uint64_t rank) const;

 private:
  static constexpr unsigned kWords = kFlows / 64;
  using Bits = std::array<std::atomic<uint64_t>, kWords>;
  struct Slice {
    Bits regardless{};  // of flows that do not look at the byte
    std::array<Bits, 256> by_value{};
  };

  static void Set(Bits& bits, unsigned flow);
  void OpenSlices(const PacketKey& mask);

  std::atomic<uint64_t> last_version_{0};
  std::atomic<uint32_t> slice_count_{0};
  std::array<uint8_t, kSlices> bytes_{};  // of the key, by slice
  std::array<std::atomic<uint64_t>, kFlows> versions_{};
  std::array<std::atomic<uint64_t>, kFlows> ranks_{};
  std::array<Slice, kSlices> slices_{};
  // The writer's.
  unsigned count_ = 0;
  std::bitset<sizeof(PacketKey)> sliced_;
};

class ChangeLog {
 public:
  ChangeLog() = default;
  ~ChangeLog();
  ChangeLog(const ChangeLog&) = delete;
  ChangeLog& operator=(const ChangeLog&) = delete;

  // The oldest version whose answers may be looked at. Read once a burst, before
  // the table's version.
  uint64_t horizon() const { return horizon_.load(std::memory_order_acquire); }
  // False if no flow that was added after version `since`, which is not before
  // the horizon, matches the key and has a higher rank.
  bool MayBeat(const PacketKey& key, uint64_t since, uint64_t rank) const;

  // Notes a flow of the version to come.
  void Add(const PacketKey& value, const PacketKey& mask, uint64_t rank, uint64_t version, Garbage& garbage);
  // Forgets what versions before this one answered.
  void RaiseHorizon(uint64_t version);

 private:
  static constexpr uint64_t kPages = 8;
  static constexpr unsigned kMostOfOneVersion = 4 * RecentFlows::kFlows;

  std::atomic<uint64_t> horizon_{0};
  std::atomic<uint64_t> newest_{0};  // page number; 0: none yet
  std::array<std::atomic<RecentFlows*>, kPages> pages_{};
  // The writer's.
  uint64_t version_ = 0;          // that the last flow was added for
  unsigned of_this_version_ = 0;  // flows that were added for it
};

}  // namespace sluice
