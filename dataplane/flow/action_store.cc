#include "dataplane/flow/action_store.h"

#include <algorithm>
#include <memory>
#include <new>

#include "absl/hash/hash.h"

namespace sluice {
namespace {

size_t HashOf(std::span<const Action> actions) {
  size_t hash = actions.size();
  for (const Action& a : actions) {
    hash = absl::HashOf(hash, a.type, a.field, a.only_if_untagged, a.tpid, a.port, a.value, a.mask);
  }
  return hash;
}

uint32_t OnlyPort(std::span<const Action> actions) {
  const bool only = actions.size() == 1 && actions[0].type == ActionType::kOutput;
  return only ? actions[0].port : StoredActions::kNoOnlyPort;
}

bool Rewrites(std::span<const Action> actions) {
  return !std::ranges::all_of(actions, [](const Action& action) { return IsOutput(action); });
}

}  // namespace

bool ActionStore::Equal::operator()(const StoredActions* list, const Probe& probe) const {
  return list->hash == probe.hash && std::ranges::equal(list->actions(), probe.actions);
}

ActionStore::~ActionStore() {
  for (StoredActions* list : lists_) ::operator delete(list);
}

const StoredActions* ActionStore::Acquire(std::span<const Action> actions) {
  const Probe probe{actions, HashOf(actions)};
  auto found = lists_.find(probe);
  if (found == lists_.end()) {
    void* memory = ::operator new(sizeof(StoredActions) + actions.size_bytes());
    auto* list = new (memory)
        StoredActions{probe.hash, 0, static_cast<uint32_t>(actions.size()), OnlyPort(actions), Rewrites(actions)};
    rewriting_ += list->rewrites;
    std::ranges::uninitialized_copy(actions, std::span(reinterpret_cast<Action*>(list + 1), actions.size()));
    found = lists_.insert(list).first;
  }
  ++(*found)->references;
  return *found;
}

void ActionStore::Release(const StoredActions* list) {
  auto* mine = const_cast<StoredActions*>(list);
  if (--mine->references > 0) return;
  rewriting_ -= mine->rewrites;
  lists_.erase(mine);
  ::operator delete(mine);
}

}  // namespace sluice
