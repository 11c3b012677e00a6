#include "dataplane/worker/table_lookup.h"

#include "dataplane/classifier/flow_cache.h"

namespace sluice {

TableLookup::~TableLookup() { delete cache_.load(std::memory_order_relaxed); }

std::unique_ptr<FlowCache> TableLookup::SetCache(std::unique_ptr<FlowCache> cache) {
  return std::unique_ptr<FlowCache>(cache_.exchange(cache.release(), std::memory_order_acq_rel));
}

void TableLookup::Find(const TableView& view, uint8_t table_id, const PacketKey* keys, unsigned n,
                       const ClassifierEntry** entries) {
  FlowCache* cache = cache_.load(std::memory_order_acquire);
  if (cache == nullptr) return classifier_.Lookup(worker_, table_id, view.version, keys, n, entries);
  const FlowCache::Counts counts = cache->Lookup(classifier_, worker_, table_id, view, keys, n, entries);
  counters_.flow_cache_hits.Add(counts.hits);
  counters_.flow_cache_misses.Add(counts.misses);
  counters_.flow_cache_evictions.Add(counts.evictions);
}

}  // namespace sluice
