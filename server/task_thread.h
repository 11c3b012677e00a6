// A thread that runs what is posted, one after another: for work that may wait
// on devices, so that gRPC's own threads do not.
//
// Post: any thread. What was posted before the destructor runs to its end.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace sluice {

class TaskThread {
 public:
  TaskThread() : thread_([this] { Run(); }) {}
  ~TaskThread() {
    Post(nullptr);
    thread_.join();
  }

  void Post(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
  }

 private:
  void Run() {
    while (std::function<void()> task = Next()) task();
  }

  std::function<void()> Next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return !tasks_.empty(); });
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;  // an empty one ends the thread
  std::thread thread_;                       // last: it uses the others
};

}  // namespace sluice
