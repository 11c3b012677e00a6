// Objects by number that workers look up while a control thread changes them.
//
// A map is immutable and replaced as a whole by one store, so that a reader sees
// a change complete or not at all; the one before is freed after the grace period.
// What two maps have in common they share. A change costs a copy of the map:
// meant for thousands of objects that change now and then, not for flows.
//
// Find: workers, which hold nothing of it at their next quiescent state. All
// else: control threads, one at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "dataplane/worker/reclaimer.h"

namespace sluice {

template <typename T>
class PublishedMap {
 public:
  using Map = absl::flat_hash_map<uint32_t, std::shared_ptr<const T>>;

  explicit PublishedMap(Reclaimer& reclaimer) : reclaimer_(reclaimer) {}
  // No worker may look any more.
  ~PublishedMap() { delete map_.load(std::memory_order_relaxed); }
  PublishedMap(const PublishedMap&) = delete;
  PublishedMap& operator=(const PublishedMap&) = delete;

  // Null if there is none.
  const T* Find(uint32_t number) const {
    const Map& map = *map_.load(std::memory_order_acquire);
    const auto at = map.find(number);
    return at == map.end() ? nullptr : at->second.get();
  }

  // Puts an object in the place of the one with this number, or takes that away if
  // it is null.
  void Set(uint32_t number, std::shared_ptr<const T> object) {
    auto next = std::make_unique<Map>(*map_.load(std::memory_order_relaxed));
    if (object == nullptr) {
      next->erase(number);
    } else {
      (*next)[number] = std::move(object);
    }
    const Map* old = map_.exchange(next.release(), std::memory_order_acq_rel);
    reclaimer_.AfterGrace([old] { delete old; });
  }

 private:
  Reclaimer& reclaimer_;
  std::atomic<const Map*> map_{new Map};
};

}  // namespace sluice
