// The ways in which a worker goes over a table's masks with a batch.
//
// In order: mask after mask, each for all packets that still look. By the index:
// packet after packet, each from one of its candidates to the next; what one
// packet waits for, others fill (the subtable's lines, the bucket's, the entry's).
// With a hint: first the mask that the mask cache names, then in order.
//
// Threads: worker `worker`'s; all is on its stack.

#pragma once

#include <cstdint>

#include "dataplane/classifier/classifier.h"
#include "dataplane/classifier/mask_array.h"

namespace sluice {

struct Walk {
  Walk(unsigned of_worker, uint64_t as_of, const PacketKey* of_packets, unsigned count, const ClassifierEntry** found)
      : worker(of_worker), version(as_of), keys(of_packets), n(count), entries(found) {}

  const unsigned worker;
  const uint64_t version;
  const PacketKey* const keys;
  const unsigned n;
  const ClassifierEntry** const entries;  // the best so far

  uint32_t matched = 0;     // packets that have one
  uint64_t visited = 0;     // probes
  uint64_t cache_hits = 0;  // packets whose hint had the winner
  uint64_t ranks[kBatch];   // of the entries
  uint32_t places[kBatch];  // in the array, of their masks
};

// As the array wants it.
void WalkOver(const MaskArray& masks, Walk& walk);

}  // namespace sluice
