#include "dataplane/classifier/classifier.h"

#include <algorithm>
#include <bit>

#include "dataplane/classifier/interest.h"
#include "dataplane/classifier/table.h"

namespace sluice {

Classifier::Classifier() : interest_(new Interest({}, false, HashKey::Random())) {}

Classifier::~Classifier() { delete interest_.load(std::memory_order_relaxed); }

std::unique_ptr<const Interest> Classifier::SetInterest(std::unique_ptr<const Interest> interest) {
  return std::unique_ptr<const Interest>(interest_.exchange(interest.release(), std::memory_order_acq_rel));
}

void Classifier::Lookup(unsigned worker, uint8_t table_id, uint64_t version, const PacketKey* keys, unsigned n,
                        const ClassifierEntry** entries) {
  std::fill_n(entries, n, nullptr);
  ClassifierTable* table = tables_[table_id].load(std::memory_order_acquire);
  if (table != nullptr && n > 0) table->Lookup(worker, version, keys, n, entries);
}

void Classifier::CountRemembered(unsigned worker, uint8_t table_id, uint32_t packets,
                                 const ClassifierEntry* const* entries) {
  ClassifierTable* table = tables_[table_id].load(std::memory_order_acquire);
  if (packets == 0 || table == nullptr) return;
  uint64_t matches = 0;
  for (uint32_t left = packets; left != 0; left &= left - 1) matches += entries[std::countr_zero(left)] != nullptr;
  table->CountRemembered(worker, static_cast<uint64_t>(std::popcount(packets)), matches);
}

}  // namespace sluice
