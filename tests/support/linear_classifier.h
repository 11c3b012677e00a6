// The slow, obvious twin of the classifier: flows in a list, best first, and a
// lookup that tries one after the other.

#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/flow/match.h"

namespace sluice {

struct LinearFlow {
  uint64_t id = 0;
  uint16_t priority = 0;
  Match match;
  uint32_t output = 0;
};

class LinearClassifier {
 public:
  // Behind all of its priority: it is the youngest.
  void Add(const LinearFlow& flow);
  void Remove(uint64_t id);
  // In its place: age and priority stay.
  void Modify(uint64_t id, uint32_t output);

  // The first that matches, or null.
  const LinearFlow* Lookup(const PacketKey& key) const;
  // Whether two flows or more match.
  bool Contended(const PacketKey& key) const;
  const LinearFlow* Find(uint16_t priority, const Match& match) const;
  const std::vector<LinearFlow>& flows() const { return flows_; }

 private:
  std::vector<LinearFlow> flows_;  // by descending priority, then by age
};

}  // namespace sluice
