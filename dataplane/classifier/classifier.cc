#include "dataplane/classifier/classifier.h"

#include <algorithm>

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

void Classifier::CountRemembered(unsigned worker, uint8_t table_id, unsigned packets, unsigned matches) {
  ClassifierTable* table = tables_[table_id].load(std::memory_order_acquire);
  if (packets != 0 && table != nullptr) table->CountRemembered(worker, packets, matches);
}

}  // namespace sluice
