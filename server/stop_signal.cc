#include "server/stop_signal.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

#include "absl/time/clock.h"
#include "server/exit_code.h"
#include "spdlog/spdlog.h"

namespace sluice {
namespace {

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  // Only of this process and only sent by the destructor.
  sigaddset(&set, SIGUSR1);
  return set;
}

// As if nobody had caught it.
[[noreturn]] void EndBy(int signal_number) {
  signal(signal_number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal_number);
  _exit(static_cast<int>(ExitCode::kInternal));
}

}  // namespace

class StopSignal::Impl {
 public:
  explicit Impl(absl::Duration deadline) : deadline_(deadline) {
    const sigset_t set = Signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    // A client that goes away is no reason to end.
    signal(SIGPIPE, SIG_IGN);
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

  bool requested() const {
    const std::lock_guard lock(mutex_);
    return requested_;
  }

  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return requested_; });
  }

 private:
  void Run() {
    const sigset_t set = Signals();
    int number = 0;
    while (sigwait(&set, &number) != 0) {
    }
    if (number == SIGUSR1) return;
    spdlog::info("signal {}: ending", number);
    const absl::Time last = absl::Now() + deadline_;
    {
      const std::lock_guard lock(mutex_);
      requested_ = true;
    }
    changed_.notify_all();
    for (;;) {
      const timespec left = absl::ToTimespec(std::max(last - absl::Now(), absl::ZeroDuration()));
      number = sigtimedwait(&set, nullptr, &left);
      if (number == SIGUSR1) return;
      if (number > 0) EndBy(number);
      if (errno == EAGAIN) {
        spdlog::error("the end took more than {} s: ending at once", absl::ToInt64Seconds(deadline_));
        _exit(static_cast<int>(ExitCode::kInternal));
      }
    }
  }

  const absl::Duration deadline_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = false;
  std::thread thread_;
};

StopSignal::StopSignal(absl::Duration deadline) : impl_(std::make_unique<Impl>(deadline)) {}
StopSignal::~StopSignal() = default;
bool StopSignal::requested() const { return impl_->requested(); }
void StopSignal::Wait() { impl_->Wait(); }

}  // namespace sluice
