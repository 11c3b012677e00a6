#include "dataplane/classifier/flow_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace sluice {
namespace {

// Of an answer: 43 bits of an address that is a multiple of 16 and below 2^47,
// and 21 of a version.
constexpr unsigned kVersionBits = 21;
constexpr uint64_t kVersionMask = (uint64_t{1} << kVersionBits) - 1;
constexpr unsigned kAddressShift = kVersionBits - 4;
constexpr unsigned kEraBits = kVersionBits - 1;  // of the versions for which answers are kept

uint64_t Answer(const ClassifierEntry* entry, uint64_t version) {
  return reinterpret_cast<uintptr_t>(entry) << kAddressShift | (version & kVersionMask);
}

const ClassifierEntry* EntryOf(uint64_t answer) {
  return reinterpret_cast<const ClassifierEntry*>((answer & ~kVersionMask) >> kAddressShift);
}

uint64_t BucketsFor(uint32_t entries, unsigned ways) { return std::bit_ceil(std::max<uint64_t>(entries, ways)) / ways; }

// Zeroed, and on huge pages where the kernel has some.
void* MapMemory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void FlowCache::Free::operator()(Bucket* buckets) const { munmap(buckets, bytes); }

FlowCache::FlowCache(uint32_t entries)
    : last_bucket_(BucketsFor(entries, kWays) - 1),
      buckets_(static_cast<Bucket*>(MapMemory((last_bucket_ + 1) * sizeof(Bucket))),
               Free{(last_bucket_ + 1) * sizeof(Bucket)}) {}

FlowCache::Counts FlowCache::Lookup(Classifier& classifier, unsigned worker, uint8_t table_id, const TableView& view,
                                    const PacketKey* keys, unsigned n, const ClassifierEntry** entries) {
  for (unsigned i = 0; i < n; ++i) {
    fingerprints_[i] = view.interest->FingerprintOf(keys[i], table_id);
    __builtin_prefetch(&BucketOf(fingerprints_[i]));
  }
  const Found found = Find(view, keys, n, entries);
  const uint32_t missing = ~found.packets & (~uint32_t{0} >> (kBatch - n));
  Counts counts{.hits = static_cast<uint64_t>(std::popcount(found.packets)),
                .misses = static_cast<uint64_t>(std::popcount(missing))};
  classifier.CountRemembered(worker, table_id, static_cast<unsigned>(counts.hits), found.matches);
  if (missing == 0) return counts;
  unsigned m = 0;
  for (uint32_t left = missing; left != 0; left &= left - 1) unknown_[m++] = keys[std::countr_zero(left)];
  classifier.Lookup(worker, table_id, view.version, unknown_.data(), m, answers_.data());
  m = 0;
  for (uint32_t left = missing; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    entries[i] = answers_[m++];
    counts.evictions += Remember(view, fingerprints_[i], entries[i]);
  }
  return counts;
}

// The packets that have an answer which still holds; it becomes entries[i].
FlowCache::Found FlowCache::Find(const TableView& view, const PacketKey* keys, unsigned n,
                                 const ClassifierEntry** entries) {
  KeepUp(view.version);
  const uint64_t now = view.version & kVersionMask;
  Found found;
  for (unsigned i = 0; i < n; ++i) {
    Bucket& bucket = BucketOf(fingerprints_[i]);
    if (i > 0 && fingerprints_[i] == fingerprints_[i - 1] && (found.packets >> (i - 1) & 1) != 0) {
      entries[i] = entries[i - 1];
      found.packets |= uint32_t{1} << i;
      found.matches += entries[i] != nullptr;
      continue;
    }
    const unsigned ways = WaysWith(bucket, fingerprints_[i]);
    if (ways == 0) continue;
    const int way = std::countr_zero(ways);
    const uint64_t answer = bucket.answers[way];
    if ((answer & kVersionMask) != now) {
      if (!Holds(view, answer, keys[i])) {
        bucket.tags[way] = 0;
        continue;
      }
      bucket.answers[way] = (answer & ~kVersionMask) | now;
    }
    if ((bucket.tags[way] & kUsed) == 0) bucket.tags[way] |= kUsed;
    entries[i] = EntryOf(answer);
    __builtin_prefetch(entries[i]);
    found.packets |= uint32_t{1} << i;
    found.matches += entries[i] != nullptr;
  }
  return found;
}

// A bit a way; without a branch, since which way it is cannot be foreseen.
unsigned FlowCache::WaysWith(const Bucket& bucket, uint64_t fingerprint) {
  unsigned ways = 0;
  for (unsigned way = 0; way < kWays; ++way) {
    ways |= static_cast<unsigned>((bucket.tags[way] | kUsed) == fingerprint) << way;
  }
  return ways;
}

uint64_t FlowCache::VersionOf(uint64_t answer, uint64_t now) { return now - ((now - answer) & kVersionMask); }

bool FlowCache::Holds(const TableView& view, uint64_t answer, const PacketKey& key) const {
  const uint64_t since = VersionOf(answer, view.version);
  if (since < view.horizon) return false;
  const ClassifierEntry* entry = EntryOf(answer);
  if (entry == nullptr) return !view.log->MayBeat(key, since, 0);
  return entry->VisibleAt(view.version) && !view.log->MayBeat(key, since, entry->rank);
}

// Empties the cache before a version would look like one long past: an answer is
// never older than the start of its era.
void FlowCache::KeepUp(uint64_t version) {
  const uint64_t era = version >> kEraBits;
  if (era == era_) return;
  Clear();
  era_ = era;
}

void FlowCache::Clear() {
  for (uint64_t i = 0; i <= last_bucket_; ++i) std::ranges::fill(buckets_.get()[i].tags, 0);
}

// Or does not, if all that the bucket holds is in use. True: another had to go.
bool FlowCache::Remember(const TableView& view, uint64_t fingerprint, const ClassifierEntry* entry) {
  Bucket& bucket = BucketOf(fingerprint);
  // Another packet of the batch has brought it.
  if (WaysWith(bucket, fingerprint) != 0) return false;
  bool evicts = false;
  const unsigned way = PlaceFor(view, bucket, evicts);
  if (way == kWays) {
    constexpr unsigned kPatience = 8;
    if (Roll(kPatience) == 0) {
      for (uint64_t& tag : bucket.tags) tag &= ~kUsed;
    }
    return false;
  }
  bucket.tags[way] = fingerprint & ~kUsed;
  bucket.answers[way] = Answer(entry, view.version);
  return evicts;
}

// kWays: none.
unsigned FlowCache::PlaceFor(const TableView& view, const Bucket& bucket, bool& evicts) {
  unsigned unused = 0;
  for (unsigned way = 0; way < kWays; ++way) {
    if (bucket.tags[way] == 0 || VersionOf(bucket.answers[way], view.version) < view.horizon) return way;
    if ((bucket.tags[way] & kUsed) == 0) unused |= 1u << way;
  }
  evicts = unused != 0;
  if (!evicts) return kWays;
  // Any of them: two newcomers must not always take the same place from each other.
  unsigned way = Roll(kWays);
  while ((unused >> way & 1) == 0) way = (way + 1) % kWays;
  return way;
}

// Knuth's MMIX generator: traffic that comes round in a ring must not always meet
// the same luck. sides: a power of two.
unsigned FlowCache::Roll(unsigned sides) {
  dice_ = dice_ * 6364136223846793005 + 1442695040888963407;
  return static_cast<unsigned>(dice_ >> 48) % sides;
}

}  // namespace sluice
