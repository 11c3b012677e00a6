#include "dataplane/flow/mac_table.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace sluice {
namespace {

// Buckets of seven that are half full at the bound: with the choice of two,
// hardly any overflows before.
constexpr uint32_t kMeanLoad = 3;
// How often a reader looks again at a bucket that is being changed.
constexpr int kReadTries = 4;
constexpr uint32_t kRenewSeconds = 1;

constexpr uint64_t kUsed = uint64_t{1} << 60;
constexpr uint64_t kGroupBit = uint64_t{1} << 40;
constexpr auto kRelaxed = std::memory_order_relaxed;

uint64_t KeyOf(uint64_t mac, uint16_t vlan) { return kUsed | mac << 12 | (vlan & 0xfff); }
uint64_t MacOf(uint64_t key) { return key >> 12 & 0xffffffffffff; }
uint16_t VlanOf(uint64_t key) { return key & 0xfff; }
uint64_t ValueOf(uint32_t port, uint32_t now) { return uint64_t{port} << 32 | now; }
uint32_t PortIn(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint32_t TimeIn(uint64_t value) { return static_cast<uint32_t>(value); }

// 0 for what another thread has written meanwhile with a later time.
uint32_t AgeOf(uint64_t value, uint32_t now) {
  const uint32_t age = now - TimeIn(value);
  return age > UINT32_MAX / 2 ? 0 : age;
}

// Finalizer of MurmurHash3: each half of the result depends on all bits.
uint64_t Mix(uint64_t key) {
  key = (key ^ key >> 33) * 0xff51afd7ed558ccd;
  key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53;
  return key ^ key >> 33;
}

bool Selects(const MacFilter& filter, uint64_t key, uint64_t value) {
  return (!filter.port || *filter.port == PortIn(value)) && (!filter.vlan || *filter.vlan == VlanOf(key)) &&
         (!filter.mac || *filter.mac == MacOf(key));
}

}  // namespace

MacTable::MacTable(const MacTableOptions& options)
    : options_(options), buckets_(std::max<size_t>(1, (options.entries + kMeanLoad - 1) / kMeanLoad)) {}

bool MacTable::IsExpired(uint64_t value, uint32_t now) const { return AgeOf(value, now) >= options_.age_seconds; }

MacTable::Pair MacTable::PairOf(uint64_t key) {
  const uint64_t hash = Mix(key);
  Bucket* const first = &buckets_[IndexOf(static_cast<uint32_t>(hash))];
  Bucket* const second = &buckets_[IndexOf(static_cast<uint32_t>(hash >> 32))];
  return {first, second == first ? nullptr : second};
}

int MacTable::WayOf(const Bucket& bucket, uint64_t key) {
  for (int way = 0; way < kWays; ++way) {
    if (bucket.keys[way].load(kRelaxed) == key) return way;
  }
  return kNone;
}

bool MacTable::Read(const Bucket& bucket, uint64_t key, uint64_t& value) {
  for (int tries = 0; tries < kReadTries; ++tries) {
    const uint32_t before = bucket.sequence.load(std::memory_order_acquire);
    const int way = WayOf(bucket, key);
    value = way == kNone ? 0 : bucket.values[way].load(kRelaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && bucket.sequence.load(kRelaxed) == before) return way != kNone;
  }
  return false;
}

uint32_t MacTable::Find(uint64_t mac, uint16_t vlan, uint32_t now) const {
  const uint64_t key = KeyOf(mac, vlan);
  const uint64_t hash = Mix(key);
  uint64_t value = 0;
  const bool found = Read(buckets_[IndexOf(static_cast<uint32_t>(hash))], key, value) ||
                     Read(buckets_[IndexOf(static_cast<uint32_t>(hash >> 32))], key, value);
  return found && !IsExpired(value, now) ? PortIn(value) : 0;
}

bool MacTable::Claim(Bucket& bucket) {
  uint32_t sequence = bucket.sequence.load(kRelaxed);
  if (sequence % 2 != 0 ||
      !bucket.sequence.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acquire, kRelaxed)) {
    return false;
  }
  std::atomic_thread_fence(std::memory_order_release);
  return true;
}

void MacTable::ClaimWaiting(Bucket& bucket) {
  while (!Claim(bucket)) std::this_thread::yield();
}

void MacTable::Release(Bucket& bucket) {
  bucket.sequence.store(bucket.sequence.load(kRelaxed) + 1, std::memory_order_release);
}

// True if there is no more to do. What is read may be torn by a change: the value
// is then another station's, and if that is behind the same port its age is renewed too early.
bool MacTable::Renew(Bucket& bucket, uint64_t key, uint32_t port, uint32_t now, bool& found) {
  const int way = WayOf(bucket, key);
  if (way == kNone) return false;
  found = true;
  uint64_t value = bucket.values[way].load(kRelaxed);
  if (PortIn(value) != port || IsExpired(value, now)) return false;
  if (AgeOf(value, now) >= kRenewSeconds)
    bucket.values[way].compare_exchange_strong(value, ValueOf(port, now), kRelaxed);
  return true;
}

void MacTable::Learn(uint64_t mac, uint16_t vlan, uint32_t port, uint32_t now) {
  if ((mac & kGroupBit) != 0) return;
  const uint64_t key = KeyOf(mac, vlan);
  const Pair pair = PairOf(key);
  bool found = false;
  if (Renew(*pair[0], key, port, now, found)) return;
  if (!found && pair[1] != nullptr && Renew(*pair[1], key, port, now, found)) return;
  LearnSlowly(key, pair, port, now);
}

void MacTable::LearnSlowly(uint64_t key, const Pair& pair, uint32_t port, uint32_t now) {
  if (!Claim(*pair[0])) return;
  if (pair[1] == nullptr) {
    Put(key, pair, port, now);
  } else if (Claim(*pair[1])) {
    Put(key, pair, port, now);
    Release(*pair[1]);
  }
  Release(*pair[0]);
}

// Both buckets are the caller's.
void MacTable::Put(uint64_t key, const Pair& pair, uint32_t port, uint32_t now) {
  for (Bucket* bucket : pair) {
    const int way = bucket == nullptr ? kNone : WayOf(*bucket, key);
    if (way == kNone) continue;
    const uint64_t before = bucket->values[way].exchange(ValueOf(port, now), kRelaxed);
    const bool expired = IsExpired(before, now);
    expired_.fetch_add(expired, kRelaxed);
    learned_.fetch_add(expired, kRelaxed);
    moved_.fetch_add(!expired && PortIn(before) != port, kRelaxed);
    return;
  }
  Place place = FreePlace(pair, now);
  if (place.bucket == nullptr) {
    place = Victim(pair, now);
    evicted_.fetch_add(1, kRelaxed);
  } else if (place.bucket->keys[place.way].load(kRelaxed) != 0) {
    expired_.fetch_add(1, kRelaxed);
  } else if (count_.fetch_add(1, kRelaxed) >= options_.entries) {
    count_.fetch_sub(1, kRelaxed);
    if (!MakeRoom(pair, now)) return;
    evicted_.fetch_add(1, kRelaxed);
  }
  place.bucket->values[place.way].store(ValueOf(port, now), kRelaxed);
  place.bucket->keys[place.way].store(key, kRelaxed);
  learned_.fetch_add(1, kRelaxed);
}

// An expired entry's, which no longer counts, else one in the emptier bucket; none if both are full.
MacTable::Place MacTable::FreePlace(const Pair& pair, uint32_t now) {
  Place best;
  int most = 0;
  for (Bucket* bucket : pair) {
    if (bucket == nullptr) continue;
    int free = 0, free_way = kNone;
    for (int way = 0; way < kWays; ++way) {
      if (bucket->keys[way].load(kRelaxed) == 0) {
        ++free;
        free_way = way;
      } else if (IsExpired(bucket->values[way].load(kRelaxed), now)) {
        return {bucket, way};
      }
    }
    if (free > most) {
      most = free;
      best = {bucket, free_way};
    }
  }
  return best;
}

// None if all buckets are empty.
MacTable::Place MacTable::Victim(std::span<Bucket* const> buckets, uint32_t now) {
  std::array<Place, kWays * kCandidates> places;
  std::array<uint64_t, kWays * kCandidates> values;
  int n = 0;
  for (Bucket* bucket : buckets) {
    for (int way = 0; bucket != nullptr && way < kWays; ++way) {
      if (bucket->keys[way].load(kRelaxed) == 0) continue;
      places[n] = {bucket, way};
      values[n++] = bucket->values[way].load(kRelaxed);
    }
  }
  int victim = kNone, most = 0;
  uint32_t age = 0;
  for (int i = 0; i < n; ++i) {
    const auto same = static_cast<int>(
        std::count_if(values.begin(), values.begin() + n, [&](uint64_t v) { return PortIn(v) == PortIn(values[i]); }));
    if (same < most || (same == most && AgeOf(values[i], now) <= age)) continue;
    most = same;
    age = AgeOf(values[i], now);
    victim = i;
  }
  return victim == kNone ? Place{} : places[victim];
}

// Frees an entry's place, which the caller takes elsewhere: the count stays. Both
// buckets are the caller's; some behind the first are looked at too. False, rarely:
// there is no entry, or another worker is at it.
bool MacTable::MakeRoom(const Pair& pair, uint32_t now) {
  std::array<Bucket*, kCandidates> buckets = {pair[0], pair[1]};
  const auto start = static_cast<size_t>(pair[0] - buckets_.data());
  for (size_t i = 2; i < buckets.size() && i - 1 < buckets_.size(); ++i) {
    Bucket* const other = &buckets_[(start + i - 1) % buckets_.size()];
    if (other != pair[1]) buckets[i] = other;
  }
  const Place victim = Victim(buckets, now);
  if (victim.bucket == nullptr) return false;
  const bool others = victim.bucket != pair[0] && victim.bucket != pair[1];
  if (others && !Claim(*victim.bucket)) return false;
  const bool still_there = victim.bucket->keys[victim.way].exchange(0, kRelaxed) != 0;
  if (others) Release(*victim.bucket);
  return still_there;
}

void MacTable::Expire(uint32_t now) {
  for (Bucket& bucket : buckets_) {
    for (int way = 0; way < kWays; ++way) {
      // Looked at first: a bucket is not disturbed for nothing.
      if (bucket.keys[way].load(kRelaxed) == 0 || !IsExpired(bucket.values[way].load(kRelaxed), now)) continue;
      ClaimWaiting(bucket);
      if (bucket.keys[way].load(kRelaxed) != 0 && IsExpired(bucket.values[way].load(kRelaxed), now)) {
        bucket.keys[way].store(0, kRelaxed);
        count_.fetch_sub(1, kRelaxed);
        expired_.fetch_add(1, kRelaxed);
      }
      Release(bucket);
    }
  }
}

size_t MacTable::Flush(const MacFilter& filter) {
  size_t flushed = 0;
  for (Bucket& bucket : buckets_) {
    ClaimWaiting(bucket);
    for (int way = 0; way < kWays; ++way) {
      const uint64_t key = bucket.keys[way].load(kRelaxed);
      if (key == 0 || !Selects(filter, key, bucket.values[way].load(kRelaxed))) continue;
      bucket.keys[way].store(0, kRelaxed);
      count_.fetch_sub(1, kRelaxed);
      ++flushed;
    }
    Release(bucket);
  }
  return flushed;
}

std::vector<MacEntry> MacTable::List(const MacFilter& filter, uint32_t now) const {
  std::vector<MacEntry> entries;
  for (const Bucket& bucket : buckets_) {
    for (const auto& each : bucket.keys) {
      const uint64_t key = each.load(kRelaxed);
      uint64_t value = 0;
      if (key == 0 || !Read(bucket, key, value) || IsExpired(value, now) || !Selects(filter, key, value)) continue;
      entries.push_back({MacOf(key), VlanOf(key), PortIn(value), AgeOf(value, now)});
    }
  }
  std::ranges::sort(entries, {}, [](const MacEntry& entry) { return std::pair(entry.vlan, entry.mac); });
  return entries;
}

MacTableInfo MacTable::Info() const {
  return {.entries = count_.load(kRelaxed),
          .options = options_,
          .learned = learned_.load(kRelaxed),
          .moved = moved_.load(kRelaxed),
          .evicted = evicted_.load(kRelaxed),
          .expired = expired_.load(kRelaxed)};
}

}  // namespace sluice
