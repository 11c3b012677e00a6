// A worker's lookups: from its flow cache where it has one, else by the classifier.
//
// Threads: the worker's; SetCache is a control thread's.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dataplane/classifier/classifier.h"
#include "dataplane/worker/counters.h"

namespace sluice {

class FlowCache;

class TableLookup {
 public:
  // Both outlive it.
  TableLookup(unsigned worker, Classifier& classifier, WorkerCounters& counters)
      : worker_(worker), classifier_(classifier), counters_(counters) {}
  ~TableLookup();
  TableLookup(const TableLookup&) = delete;
  TableLookup& operator=(const TableLookup&) = delete;

  // Entries of n <= kBatch keys in a table as of the view; null where no flow matches.
  void Find(const TableView& view, uint8_t table_id, const PacketKey* keys, unsigned n,
            const ClassifierEntry** entries);

  // As Worker::SetCache.
  std::unique_ptr<FlowCache> SetCache(std::unique_ptr<FlowCache> cache);

 private:
  const unsigned worker_;
  Classifier& classifier_;
  WorkerCounters& counters_;
  std::atomic<FlowCache*> cache_{nullptr};
};

}  // namespace sluice
