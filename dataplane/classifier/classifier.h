// From a packet's key to the flow that wins: the workers' side of the flow table.

#pragma once

#include <cstdint>
#include <span>

#include "dataplane/flow/action.h"
#include "dataplane/packet/key.h"

namespace sluice {

// Packets that are looked up together.
inline constexpr unsigned kBatch = 32;

// A flow as one version of the table has it. What a worker holds of it is valid
// until its next quiescent state.
struct ClassifierEntry;

// The flow's actions.
std::span<const Action> ActionsOf(const ClassifierEntry& entry);

// Worker `worker` only: adds to the flow's counters. Once per flow and burst.
void CountHits(const ClassifierEntry& entry, unsigned worker, uint64_t packets, uint64_t bytes, int64_t now_unix_ns);

class Classifier {
 public:
  // The version that a burst sees; a worker reads it once a burst.
  uint64_t version() const;

  // Worker `worker`, online. Looks up n <= kBatch keys in a table as of
  // `version`: entries[i] becomes the entry of the flow that wins, or null.
  void Lookup(unsigned worker, uint8_t table_id, uint64_t version, const PacketKey* keys, unsigned n,
              const ClassifierEntry** entries);
};

}  // namespace sluice
