// Changes that become visible together, carried out one after the other.
//
// Each item sees what those before it did. An item that fails leaves nothing;
// Undo takes back all that succeeded, and Commit publishes it. One of the two
// must be called. Under the flow table's lock.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/flow/flow_store.h"
#include "dataplane/flow/flow_table.h"

namespace sluice {

class Batch {
 public:
  Batch(FlowStore& store, FlowTime now) : store_(store), now_(now) {}

  void Apply(const FlowChange& change, uint32_t item, FlowChangeResult& result);
  void Undo();
  // Returns what the new version removed, oldest first.
  std::vector<Retired> Commit();

 private:
  enum class Step : uint8_t { kAdded, kReplaced, kRemoved };
  struct Done {
    Step step;
    uint32_t item;
    Flow* flow;
    // Before kReplaced.
    ClassifierEntry* entry = nullptr;
    uint64_t cookie = 0;
    uint64_t base_packets = 0;
    uint64_t base_bytes = 0;
    FlowTimes times{};
  };

  void Create(const CreateFlow& create, uint32_t item, FlowChangeResult& result);
  void Update(const UpdateFlow& update, uint32_t item, FlowChangeResult& result);
  void Delete(const DeleteFlow& remove, uint32_t item, FlowChangeResult& result);
  void Replace(Flow& flow, const UpdateFlow& update, uint32_t item);
  void UndoOne(const Done& done);

  FlowStore& store_;
  const FlowTime now_;
  std::vector<Done> done_;
};

}  // namespace sluice
