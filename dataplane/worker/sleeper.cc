#include "dataplane/worker/sleeper.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace sluice {
namespace {

// Nothing depends on it: a file that stays silent by mistake costs this much.
constexpr int kLongestWaitMs = 50;
// Nor on this: a device that has failed, and may come back, is looked at so often.
constexpr int kLongestWaitWithFailedMs = 1;

bool Add(int files, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  return epoll_ctl(files, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Sleeper::Sleeper(unsigned worker) : worker_(worker), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Sleeper::~Sleeper() {
  for (const int fd : {files_, wake_}) {
    if (fd >= 0) close(fd);
  }
}

void Sleeper::Wake() {
  const uint64_t one = 1;
  // It fails only if the count is full, and then it is not zero.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

void Sleeper::Prepare(const Snapshot& snapshot) {
  if (snapshot.generation == generation_) return;
  generation_ = snapshot.generation;
  if (files_ >= 0) close(files_);
  files_ = epoll_create1(EPOLL_CLOEXEC);
  longest_wait_ms_ = kLongestWaitMs;
  const auto& queues = snapshot.polls[worker_];
  wakeable_ = snapshot.hand_overs[worker_].empty() && wake_ >= 0 && Add(files_, wake_) &&
              std::ranges::all_of(queues, [this](const auto& queue) { return Add(files_, queue.wake_fd); });
}

void Sleeper::Sleep(uint64_t nanoseconds) {
  if (wakeable_) return WaitForFiles();
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(nanoseconds)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

void Sleeper::WaitForFiles() {
  epoll_event event{};
  if (epoll_wait(files_, &event, 1, longest_wait_ms_) != 1) return;
  // A device that is gone, or has an error that nobody fetches, would end every
  // wait at once: it wakes the worker no more.
  if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) {
    spdlog::warn("worker {}: the device of a port that it polls has failed; see which ports have no link", worker_);
    longest_wait_ms_ = kLongestWaitWithFailedMs;
    epoll_ctl(files_, EPOLL_CTL_DEL, event.data.fd, nullptr);
  }
  if (event.data.fd != wake_) return;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = read(wake_, &count, sizeof count);
}

}  // namespace sluice
