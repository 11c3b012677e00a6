// A worker's own memory of answers: from a packet's fingerprint to the entry
// that a lookup gave for it, or to none.
//
// A packet's fingerprint in a table is 64 keyed bits of those parts of its key
// that some flow looks at (interest.h). It names the packet's answer as long as no two
// keys in use share one: a packet takes another's answer once in about 2^60
// lookups, and nobody outside can make it happen, since the key is random.
//
// Buckets are a cache line of four places. An answer is remembered with the
// version it was given at and returned only if it still holds (change_log.h);
// then the version is renewed. So a change of the flow table costs nothing but
// for the packets that it concerns.
//
// Who is replaced. A place that is hit is marked as used. A new answer takes a
// place that is free or can't hold any more, else one that is not used; if all
// four are used it is turned away, but for one time in eight, when the marks are
// taken off. So a flood of packets that come once displaces what came once, and
// with more flows than places those that are hit stay.
//
// What makes it fast: one line a packet, asked for a stage ahead for the whole
// batch; nothing is compared but the fingerprint; an entry is touched where its
// version is old or its actions are needed. tests/unit/flow/flow_cache_test.cc
// holds all of it to the classifier.
//
// Threads: everything is one worker's but construction.

#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "dataplane/classifier/classifier.h"
#include "dataplane/classifier/interest.h"

namespace sluice {

class FlowCache {
 public:
  // entries: rounded up to a power of two, at least 4.
  explicit FlowCache(uint32_t entries);

  // Of one batch.
  struct Counts {
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t evictions = 0;  // answers that may have held and were replaced
  };

  // As Classifier::Lookup, from memory where it can be.
  Counts Lookup(Classifier& classifier, unsigned worker, uint8_t table_id, const TableView& view, const PacketKey* keys,
                unsigned n, const ClassifierEntry** entries);

  uint64_t entry_count() const { return 4 * (last_bucket_ + 1); }

 private:
  static constexpr unsigned kWays = 4;
  static constexpr uint64_t kUsed = 1;  // in a tag

  // A tag is a fingerprint, whose lowest bit is the mark; 0: free. An answer is an
  // entry's address above the low bits of a version.
  struct alignas(64) Bucket {
    uint64_t tags[kWays];
    uint64_t answers[kWays];
  };
  struct Free {
    size_t bytes;
    void operator()(Bucket* buckets) const;
  };

  Bucket& BucketOf(uint64_t fingerprint) const { return buckets_.get()[fingerprint >> 32 & last_bucket_]; }
  struct Found {
    uint32_t packets = 0;  // bit i: packet i has an answer
    unsigned matches = 0;  // how many of them have an entry
  };

  Found Find(const TableView& view, const PacketKey* keys, unsigned n, const ClassifierEntry** entries);
  bool Remember(const TableView& view, uint64_t fingerprint, const ClassifierEntry* entry);
  static unsigned WaysWith(const Bucket& bucket, uint64_t fingerprint);
  static uint64_t VersionOf(uint64_t answer, uint64_t now);
  bool Holds(const TableView& view, uint64_t answer, const PacketKey& key) const;
  void KeepUp(uint64_t version);
  unsigned PlaceFor(const TableView& view, const Bucket& bucket, bool& evicts);
  unsigned Roll(unsigned sides);
  void Clear();

  const uint64_t last_bucket_;
  const std::unique_ptr<Bucket, Free> buckets_;
  uint64_t era_ = 0;
  uint64_t dice_ = 0;
  // Of the batch in hand.
  std::array<uint64_t, kBatch> fingerprints_;
  std::array<PacketKey, kBatch> unknown_;
  std::array<const ClassifierEntry*, kBatch> answers_;
};

}  // namespace sluice
