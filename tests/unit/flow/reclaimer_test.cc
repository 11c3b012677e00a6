#include "dataplane/worker/reclaimer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using std::chrono::milliseconds;

TEST(ReclaimerTest, RunsAtOnceIfNoWorkerIsOnline) {
  Reclaimer reclaimer(2);
  std::promise<std::thread::id> ran;
  reclaimer.AfterGrace([&] { ran.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(ReclaimerTest, WaitsForEveryWorkerThatIsOnline) {
  Reclaimer reclaimer(3);
  reclaimer.Online(0);
  reclaimer.Online(2);
  std::promise<void> ran;
  std::future<void> done = ran.get_future();
  reclaimer.AfterGrace([&] { ran.set_value(); });
  EXPECT_EQ(done.wait_for(milliseconds(20)), std::future_status::timeout);
  reclaimer.Quiescent(0);
  EXPECT_EQ(done.wait_for(milliseconds(20)), std::future_status::timeout);
  reclaimer.Quiescent(2);
  done.get();
  reclaimer.Offline(0);
  reclaimer.Offline(2);
}

TEST(ReclaimerTest, AQuiescentStateBeforeDoesNotCount) {
  Reclaimer reclaimer(1);
  reclaimer.Online(0);
  reclaimer.Quiescent(0);
  std::promise<void> ran;
  std::future<void> done = ran.get_future();
  reclaimer.AfterGrace([&] { ran.set_value(); });
  EXPECT_EQ(done.wait_for(milliseconds(20)), std::future_status::timeout);
  reclaimer.Offline(0);
  done.get();
}

TEST(ReclaimerTest, RunsInOrder) {
  Reclaimer reclaimer(1);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) reclaimer.AfterGrace([&order, i] { order.push_back(i); });
  reclaimer.Flush();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(ReclaimerTest, FlushWaitsForWhatIsHandedOverInTurn) {
  Reclaimer reclaimer(1);
  std::atomic<int> depth = 0;
  std::function<void()> next = [&] {
    std::this_thread::sleep_for(milliseconds(1));
    if (++depth < 10) reclaimer.AfterGrace(next);
  };
  reclaimer.AfterGrace(next);
  reclaimer.Flush();
  EXPECT_EQ(depth, 10);
}

// It does not wait for what others hand over later.
TEST(ReclaimerTest, FlushEndsWhileOthersGoOn) {
  Reclaimer reclaimer(1);
  std::atomic<bool> stop = false;
  // It is never idle: more is handed over than is done.
  std::jthread other([&] {
    while (!stop) {
      reclaimer.AfterGrace([] { std::this_thread::sleep_for(milliseconds(2)); });
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  std::this_thread::sleep_for(milliseconds(10));
  reclaimer.Flush();
  stop = true;
}

TEST(ReclaimerTest, TheEndRunsAllThatIsLeft) {
  int ran = 0;
  {
    Reclaimer reclaimer(1);
    for (int i = 0; i < 10; ++i) {
      reclaimer.AfterGrace([&] {
        ++ran;
        reclaimer.AfterGrace([&] { ++ran; });
      });
    }
  }
  EXPECT_EQ(ran, 20);
}

TEST(ReclaimerTest, WhatAFunctionHoldsGoesWithIt) {
  Reclaimer reclaimer(1);
  auto object = std::make_shared<int>(1);
  reclaimer.AfterGrace([object] {});
  reclaimer.Flush();
  EXPECT_EQ(object.use_count(), 1);
}

// The memory that a worker reads is not freed under it.
TEST(ReclaimerTest, WorkersReadWhatIsThere) {
  constexpr unsigned kWorkers = 2;
  Reclaimer reclaimer(kWorkers);
  std::atomic<uint64_t*> shared = new uint64_t(1);
  std::atomic<bool> stop = false;
  std::vector<std::jthread> workers;
  for (unsigned worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      for (int burst = 0; !stop; ++burst) {
        if (burst % 50 == 0) reclaimer.Online(worker);
        EXPECT_EQ(*shared.load(std::memory_order_acquire), 1u);
        reclaimer.Quiescent(worker);
        if (burst % 50 == 49) reclaimer.Offline(worker);
      }
      reclaimer.Offline(worker);
    });
  }
  for (int i = 0; i < 2000; ++i) {
    uint64_t* old = shared.exchange(new uint64_t(1), std::memory_order_acq_rel);
    reclaimer.AfterGrace([old] {
      *old = 0;
      delete old;
    });
    if (i % 100 == 0) reclaimer.Flush();
  }
  stop = true;
  workers.clear();
  reclaimer.Flush();
  delete shared.load();
}

}  // namespace
}  // namespace sluice
