// Packets that others than ports hand to a worker, and their way there.
//
// A list that any thread puts packets on and the worker takes whole, in the order in
// which they were put: no lock; a worker to whom nothing is handed reads one
// pointer a round. Nobody waits in here: who has put a packet looks at `done`.

#pragma once

#include <atomic>
#include <cstdint>

#include "dataplane/dataplane.h"
#include "dataplane/flow/action.h"

struct rte_mbuf;

namespace sluice {

struct Injection {
  rte_mbuf* mbuf = nullptr;  // the worker's from when it is put
  uint32_t in_port = 0;      // 0: none
  ActionList actions;
  Injection* next = nullptr;

  // The worker's answer, once `done`.
  bool forwarded = false;
  DropReason cause = DropReason::kActionDrop;
  std::atomic<bool> done{false};
};

class InjectionList {
 public:
  // Any thread. It must stay where it is until it is done.
  void Put(Injection& injection) {
    injection.next = last_.load(std::memory_order_relaxed);
    while (!last_.compare_exchange_weak(injection.next, &injection, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }

  bool empty() const { return last_.load(std::memory_order_relaxed) == nullptr; }

  // The worker: the first of all that were put, with the others behind it; null: none.
  Injection* Take() {
    Injection* last = last_.exchange(nullptr, std::memory_order_acquire);
    Injection* first = nullptr;
    while (last != nullptr) {
      Injection* const before = last->next;
      last->next = first;
      first = last;
      last = before;
    }
    return first;
  }

 private:
  alignas(64) std::atomic<Injection*> last_{nullptr};
};

}  // namespace sluice
