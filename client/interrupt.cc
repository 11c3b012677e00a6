#include "client/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

namespace sluice::client {
namespace {

sigset_t EndingSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

// For poll: -1 is for ever.
int Milliseconds(absl::Duration time) {
  const int64_t most = std::numeric_limits<int>::max();
  if (time == absl::InfiniteDuration()) return -1;
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(absl::Ceil(time, absl::Milliseconds(1))), 0, most));
}

}  // namespace

Interrupt::Interrupt(absl::Duration time, std::function<void()> end) : end_(std::move(end)) {
  const sigset_t set = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  over_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this, time] { Wait(time); });
}

Interrupt::~Interrupt() {
  const uint64_t one = 1;
  // There is room for it, so it cannot fail.
  [[maybe_unused]] const ssize_t n = write(over_, &one, sizeof one);
  thread_.join();
  close(signals_);
  close(over_);
  const sigset_t set = EndingSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::Wait(absl::Duration time) {
  pollfd files[] = {{.fd = over_, .events = POLLIN, .revents = 0}, {.fd = signals_, .events = POLLIN, .revents = 0}};
  while (poll(files, std::size(files), Milliseconds(time)) < 0) {
  }
  if (files[0].revents != 0) return;
  if (files[1].revents != 0) {
    signalfd_siginfo info;
    [[maybe_unused]] const ssize_t n = read(signals_, &info, sizeof info);
  }
  const sigset_t set = EndingSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  end_();
  while (poll(files, 1, -1) < 0) {
  }
}

}  // namespace sluice::client
