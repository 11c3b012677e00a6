// Grace periods: when may something that workers might still read be freed?
//
// Each worker reports a quiescent state once a burst, when it holds no pointer
// into shared structures, and is offline while it sleeps. What a writer has
// unpublished is handed over here with a function; it runs when every worker
// that was online then has reported since. rte_rcu_qsbr does the counting.
//
// The writer must have unpublished (with release order) before it calls.

#pragma once

#include <functional>
#include <memory>

namespace sluice {

class Reclaimer {
 public:
  explicit Reclaimer(unsigned max_workers);
  // Runs all that is left; no worker may be online any more.
  ~Reclaimer();

  // Any control thread. fn runs on the reclaimer's own thread, in the order of
  // the calls; it may call AfterGrace itself.
  void AfterGrace(std::function<void()> fn);

  // Any control thread but the reclaimer's. Returns when everything handed over
  // before, and what that handed over in turn, has run.
  void Flush();

  // Worker `worker` only, 0 <= worker < max_workers. Cheap: a store each.
  void Online(unsigned worker);
  void Quiescent(unsigned worker);
  void Offline(unsigned worker);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
