// How an idle worker sleeps and what wakes it.
//
// If every receive queue that it polls has a file that says "frames wait", the
// worker waits for these files and costs next to nothing; a frame wakes it at
// once. Else it can only look again soon, and sleeps for the time that idle.h
// allows. Workers that empty hand-over rings are of the second kind.
//
// Sleep: the worker's thread. Wake: any thread; what was stored before it is
// seen after the Sleep that it ends, or that it keeps from beginning.

#pragma once

#include <cstdint>

#include "dataplane/worker/snapshot.h"

namespace sluice {

class Sleeper {
 public:
  explicit Sleeper(unsigned worker);
  ~Sleeper();
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // Takes from the snapshot what to wait for. It may be gone when Sleep is called.
  void Prepare(const Snapshot& snapshot);
  // At most `nanoseconds`, or until woken if all queues can do that.
  void Sleep(uint64_t nanoseconds);
  void Wake();

 private:
  void WaitForFiles();

  const unsigned worker_;
  const int wake_;           // an eventfd
  int files_ = -1;           // an epoll set, rebuilt when ports change
  uint64_t generation_ = 0;  // of the snapshot that files_ was built from
  bool wakeable_ = false;
  int longest_wait_ms_ = 0;
};

}  // namespace sluice
