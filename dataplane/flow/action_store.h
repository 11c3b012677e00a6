// Action lists, each kept once however many flows have it.
//
// A list is immutable and counted; flows of a big table mostly share a few. The
// writer's lock guards the store and the counts; workers read lists through
// their entries, and a reference is dropped only after their grace period.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/flat_hash_set.h"
#include "dataplane/flow/action.h"
#include "dataplane/packet/rewrite.h"

namespace sluice {

// The header, a cache line, says all there is to do for a list that switches or
// routes; the actions lie behind it.
struct alignas(64) StoredActions {
  size_t hash;
  uint32_t references;
  uint32_t count;
  uint32_t only_port;  // the list is this header: it writes addresses, counts the TTL down if decrements_ttl,
                       // and outputs to this port; kNoOnlyPort: there is more to it
  bool rewrites;       // some action changes the packet
  bool decrements_ttl;
  AddressRewrite addresses;

  static constexpr uint32_t kNoOnlyPort = ~uint32_t{0};
  std::span<const Action> actions() const { return {reinterpret_cast<const Action*>(this + 1), count}; }
};
static_assert(sizeof(StoredActions) == 64);

class ActionStore {
 public:
  ActionStore() = default;
  ~ActionStore();
  ActionStore(const ActionStore&) = delete;
  ActionStore& operator=(const ActionStore&) = delete;

  // The list with these actions, with one more reference.
  const StoredActions* Acquire(std::span<const Action> actions);
  // Drops a reference; with the last the list goes.
  void Release(const StoredActions* list);
  size_t size() const { return lists_.size(); }
  // How many lists rewrite packets.
  size_t rewriting() const { return rewriting_; }

 private:
  struct Probe {
    std::span<const Action> actions;
    size_t hash;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const StoredActions* list) const { return list->hash; }
    size_t operator()(const Probe& probe) const { return probe.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const StoredActions* a, const StoredActions* b) const { return a == b; }
    bool operator()(const StoredActions* list, const Probe& probe) const;
    bool operator()(const Probe& probe, const StoredActions* list) const { return (*this)(list, probe); }
  };

  absl::flat_hash_set<StoredActions*, Hash, Equal> lists_;
  size_t rewriting_ = 0;
};

}  // namespace sluice
