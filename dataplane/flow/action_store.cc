#include "dataplane/flow/action_store.h"

#include <algorithm>
#include <memory>
#include <new>

#include "absl/hash/hash.h"

namespace sluice {
namespace {

constexpr auto kAlignment = std::align_val_t{alignof(StoredActions)};

size_t HashOf(std::span<const Action> actions) {
  size_t hash = actions.size();
  for (const Action& a : actions) {
    hash = absl::HashOf(hash, a.type, a.field, a.only_if_untagged, a.deferred, a.tpid, a.source_bit, a.destination_bit,
                        a.port, a.bits, a.destination, a.value, a.mask);
  }
  return hash;
}

// Describes the list in its header if that is all there is to it.
void Summarize(std::span<const Action> actions, StoredActions& list) {
  if (actions.empty() || actions.back().type != ActionType::kOutput) return;
  if (std::ranges::any_of(actions, &Action::deferred)) return;
  for (const Action& action : actions.first(actions.size() - 1)) {
    const bool address = action.field == Field::kEthDst || action.field == Field::kEthSrc;
    if (action.type == ActionType::kSetField && address) {
      list.addresses.Add(action.field, action.value, action.mask);
    } else if (action.type == ActionType::kDecTtl && !list.decrements_ttl) {
      list.decrements_ttl = true;
    } else {
      return;
    }
  }
  list.only_port = actions.back().port;
}

bool Rewrites(std::span<const Action> actions) { return !std::ranges::all_of(actions, IsPlainOutput); }

}  // namespace

bool ActionStore::Equal::operator()(const StoredActions* list, const Probe& probe) const {
  return list->hash == probe.hash && std::ranges::equal(list->actions(), probe.actions);
}

ActionStore::~ActionStore() {
  for (StoredActions* list : lists_) ::operator delete(list, kAlignment);
}

const StoredActions* ActionStore::Acquire(std::span<const Action> actions) {
  const Probe probe{actions, HashOf(actions)};
  auto found = lists_.find(probe);
  if (found == lists_.end()) {
    void* memory = ::operator new(sizeof(StoredActions) + actions.size_bytes(), kAlignment);
    auto* list = new (memory) StoredActions{.hash = probe.hash,
                                            .references = 0,
                                            .count = static_cast<uint32_t>(actions.size()),
                                            .only_port = StoredActions::kNoOnlyPort,
                                            .rewrites = Rewrites(actions),
                                            .decrements_ttl = false,
                                            .addresses = {}};
    Summarize(actions, *list);
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
  ::operator delete(mine, kAlignment);
}

}  // namespace sluice
