// What NORMAL has learned: which port each station was seen behind last, by MAC
// address and VLAN.
//
// One table for all workers. A key may stand in either of two buckets of seven,
// each with the keys in one cache line and the values in the next. Most packets
// only read: an entry is written when it is new, when its station has moved, or
// when it was last written a second ago or more; so no line is written per
// packet. Nobody waits on the packet path: who finds a bucket being changed by
// another worker does not learn (the station's next packet will teach) or does
// not know (the packet is flooded, as an unknown one is).
//
// A bucket's sequence is odd while its keys change (a sequence lock whose writers
// take it only if it is free). Ages are renewed, outside of it, by a
// compare-exchange of the value.
//
// The bound. With as many stations as there may be, or both buckets full, one
// gives way, out of these buckets and some more: the oldest of the port that has
// most of the entries there, so that who floods the switch with addresses puts out
// its own (as in Open vSwitch, which looks at the whole table).
//
// Time is in whole seconds from any instant, the same for all. Find and Learn: any
// worker; all else: any control thread.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

inline constexpr uint32_t kMaxMacEntries = 1 << 20;
inline constexpr uint32_t kMaxMacAgeSeconds = 7 * 24 * 3600;

struct MacTableOptions {
  uint32_t entries = 8192;
  uint32_t age_seconds = 300;  // an entry is forgotten so long after its station's last packet
};

struct MacEntry {
  uint64_t mac = 0;
  uint16_t vlan = 0;  // 0: without a tag, or with a tag of VID 0
  uint32_t port = 0;
  uint32_t age_seconds = 0;  // since its station's last packet, to a second

  friend bool operator==(const MacEntry&, const MacEntry&) = default;
};

struct MacTableInfo {
  uint32_t entries = 0;
  MacTableOptions options;
  uint64_t learned = 0;  // stations that were new
  uint64_t moved = 0;    // stations that were known behind another port
  uint64_t evicted = 0;  // stations that gave way to others
  uint64_t expired = 0;  // stations that were silent for too long
};

// Which entries; what is absent selects all.
struct MacFilter {
  std::optional<uint32_t> port{};
  std::optional<uint16_t> vlan{};
  std::optional<uint64_t> mac{};
};

class MacTable {
 public:
  explicit MacTable(const MacTableOptions& options);
  MacTable(const MacTable&) = delete;
  MacTable& operator=(const MacTable&) = delete;

  // The port; 0: not known.
  uint32_t Find(uint64_t mac, uint16_t vlan, uint32_t now) const;
  // A packet from the station came in on the port. Groups' addresses are not learned.
  void Learn(uint64_t mac, uint16_t vlan, uint32_t port, uint32_t now);

  // Drops what has expired.
  void Expire(uint32_t now);
  // Forgets; returns how many.
  size_t Flush(const MacFilter& filter);
  // By VLAN and address.
  std::vector<MacEntry> List(const MacFilter& filter, uint32_t now) const;
  MacTableInfo Info() const;

 private:
  static constexpr int kWays = 7;
  static constexpr int kNone = -1;
  static constexpr size_t kCandidates = 6;  // buckets among whose entries one gives way

  // The first line is all that tells whether a key is there.
  struct alignas(128) Bucket {
    std::atomic<uint32_t> sequence{0};
    std::array<std::atomic<uint64_t>, kWays> keys{};    // 0: free
    std::array<std::atomic<uint64_t>, kWays> values{};  // port and time
  };
  static_assert(sizeof(Bucket) == 128);

  struct Place {
    Bucket* bucket = nullptr;
    int way = kNone;
  };
  using Pair = std::array<Bucket*, 2>;  // the second is null if both are the same

  bool IsExpired(uint64_t value, uint32_t now) const;
  size_t IndexOf(uint32_t hash) const { return static_cast<size_t>(uint64_t{hash} * buckets_.size() >> 32); }
  static int WayOf(const Bucket& bucket, uint64_t key);
  static bool Read(const Bucket& bucket, uint64_t key, uint64_t& value);
  static bool Claim(Bucket& bucket);
  static void ClaimWaiting(Bucket& bucket);
  static void Release(Bucket& bucket);
  bool Renew(Bucket& bucket, uint64_t key, uint32_t port, uint32_t now, bool& found);
  void LearnSlowly(uint64_t key, const Pair& pair, uint32_t port, uint32_t now);
  void Put(uint64_t key, const Pair& pair, uint32_t port, uint32_t now);
  Place FreePlace(const Pair& pair, uint32_t now);
  static Place Victim(std::span<Bucket* const> buckets, uint32_t now);
  bool MakeRoom(const Pair& pair, uint32_t now);
  Pair PairOf(uint64_t key);

  const MacTableOptions options_;
  std::vector<Bucket> buckets_;
  std::atomic<uint32_t> count_{0};
  std::atomic<uint64_t> learned_{0};
  std::atomic<uint64_t> moved_{0};
  std::atomic<uint64_t> evicted_{0};
  std::atomic<uint64_t> expired_{0};
};

}  // namespace sluice
