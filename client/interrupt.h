// Ends what runs when the user says so (SIGINT, SIGTERM) or its time is over.
//
// From the constructor on the two signals end nothing by themselves but are
// taken by a thread, which calls a function, once. It must be made before other
// threads are. A second signal ends the process as ever, so that what hangs does
// not stay. SIGPIPE is ignored: a pipe that is closed is an error of writing.

#pragma once

#include <functional>
#include <thread>

#include "absl/time/time.h"

namespace sluice::client {

class Interrupt {
 public:
  // `end` is called from the thread. InfiniteDuration: there is all the time.
  Interrupt(absl::Duration time, std::function<void()> end);
  // From here on nothing is called.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  void Wait(absl::Duration time);

  const std::function<void()> end_;
  int signals_ = -1;  // a signalfd
  int over_ = -1;     // an eventfd that ends the thread
  std::thread thread_;
};

}  // namespace sluice::client
