// SIGTERM and SIGINT, from the first moment of the process to its last.
//
// Made before any other thread, so that all inherit the blocked signals and
// only a thread of ours takes them. The first signal asks for a graceful end; a
// second ends the process at once, as does the end's own deadline.

#pragma once

#include <memory>

#include "absl/time/time.h"

namespace sluice {

class StopSignal {
 public:
  // `deadline`: how long after the first signal the process may live.
  explicit StopSignal(absl::Duration deadline);
  // Stops the deadline's clock too.
  ~StopSignal();

  // True once a signal came. Any thread.
  bool requested() const;
  // Returns when a signal has come.
  void Wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
