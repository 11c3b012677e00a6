// A program that a test starts and watches: its exit, its words, its time.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace sluice {

class ChildProcess {
 public:
  // arguments[0] is the program. Aborts if it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // How it ended: its exit code, or minus the signal that ended it. -1000 if
  // it has not ended in time.
  int Wait(absl::Duration timeout);
  // All that it has written to stdout and stderr so far.
  std::string Output() const;
  // True once that has the text. False if it ends, or time is over, without.
  bool WaitForOutput(const std::string& text, absl::Duration timeout);

 private:
  bool Ended();

  pid_t pid_;
  int output_;  // a file in memory
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace sluice
