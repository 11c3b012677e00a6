#include "tests/support/linear_classifier.h"

#include <netinet/in.h>

#include <algorithm>

namespace sluice {
namespace {

bool Fits(const Match& match, const PacketKey& key) {
  for (size_t i = 0; i < kKeyWords; ++i) {
    if ((WordOf(key, i) & WordOf(match.mask, i)) != WordOf(match.value, i)) return false;
  }
  const auto in = [](uint16_t port, const PortRange& range) {
    return ntohs(port) >= range.first && ntohs(port) <= range.last;
  };
  return in(key.l4_src, match.ports.source) && in(key.l4_dst, match.ports.destination);
}

}  // namespace

void LinearClassifier::Add(const LinearFlow& flow) {
  const auto place = std::ranges::find_if(flows_, [&](const LinearFlow& f) { return f.priority < flow.priority; });
  flows_.insert(place, flow);
}

void LinearClassifier::Remove(uint64_t id) {
  std::erase_if(flows_, [id](const LinearFlow& f) { return f.id == id; });
}

void LinearClassifier::Modify(uint64_t id, uint32_t output) {
  for (LinearFlow& f : flows_) {
    if (f.id == id) f.output = output;
  }
}

const LinearFlow* LinearClassifier::Lookup(const PacketKey& key) const {
  for (const LinearFlow& f : flows_) {
    if (Fits(f.match, key)) return &f;
  }
  return nullptr;
}

bool LinearClassifier::Contended(const PacketKey& key) const {
  int matching = 0;
  for (const LinearFlow& f : flows_) {
    if (Fits(f.match, key) && ++matching == 2) return true;
  }
  return false;
}

const LinearFlow* LinearClassifier::Find(uint16_t priority, const Match& match) const {
  for (const LinearFlow& f : flows_) {
    if (f.priority == priority && f.match == match) return &f;
  }
  return nullptr;
}

}  // namespace sluice
