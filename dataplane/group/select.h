// Which bucket of a select group a packet takes.
//
// Rendezvous hashing: each bucket draws a number from the packet's hash and its
// own id, and the best draw wins. So a flow stays where it is whatever becomes of
// other buckets: when one goes, only its flows move, and when one comes, it takes
// its share and no flow moves between the others. (D. Thaler, C. Ravishankar,
// "Using name-based mappings to increase hit rates", 1998.) A draw u in (0, 1] of a
// bucket with weight w counts as -ln(u) / w, the smallest wins: these are
// exponential variables with rate w, of which each is the smallest with
// probability w / sum of weights. (C. Schindelhauer, G. Schomaker, "Weighted
// distributed hash tables", 2005.)
//
// Nothing is random: switches with the same group choose alike, so that flows
// survive the move from one to another. Not done: a guard against senders who
// choose addresses that all fall to one bucket.
//
// Pure; any thread.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/packet/field.h"
#include "dataplane/packet/key.h"

namespace sluice {

// What of a packet decides.
class SelectHash {
 public:
  // No fields: of IP both addresses, protocol and, but for fragments, which must
  // stay together, ports; of other packets Ethernet addresses, VLAN and EtherType.
  explicit SelectHash(std::span<const Field> fields = {});

  uint64_t Of(const PacketKey& key) const;

 private:
  struct Word {
    uint8_t index;
    uint64_t mask;
  };
  std::vector<Word> words_;  // of the fields; empty: the default
};

// The smaller, the better. weight > 0.
float DrawOf(uint64_t packet_hash, uint32_t bucket_id, uint32_t weight);

}  // namespace sluice
