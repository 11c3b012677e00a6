#include "dataplane/classifier/classifier.h"

#include <algorithm>

#include "dataplane/classifier/table.h"

namespace sluice {

void Classifier::Lookup(unsigned worker, uint8_t table_id, uint64_t version, const PacketKey* keys, unsigned n,
                        const ClassifierEntry** entries) {
  std::fill_n(entries, n, nullptr);
  ClassifierTable* table = tables_[table_id].load(std::memory_order_acquire);
  if (table != nullptr && n > 0) table->Lookup(worker, version, keys, n, entries);
}

}  // namespace sluice
