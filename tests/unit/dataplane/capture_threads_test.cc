// Captures of several workers, and while these run in their threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/dataplane/capture_testing.h"

namespace sluice {
namespace {

using ::testing::SizeIs;

// Two workers, and a port with one transmit queue.
class CaptureHandOverTest : public CaptureTapTest {
 protected:
  CaptureHandOverTest() : CaptureTapTest(2) {}
  void SetUp() override {
    switch_.AddPort(1, {.rx_queues = 2});
    switch_.AddPort(2, {.tx_queues = 1});
    switch_.AddPort(3);
    switch_.AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(2)});
  }
};

TEST_F(CaptureHandOverTest, WhatIsHandedOverIsSeenOnce) {
  Start({.port = 2});
  switch_.port(1).Deliver(Udp(1), 0);
  switch_.port(1).Deliver(Udp(2), 1);
  switch_.Run();
  std::vector<Bytes> sent;
  for (const Taken& each : Take()) {
    EXPECT_EQ(each.packet.point, CapturePoint::kSent);
    EXPECT_EQ(each.packet.port, 2u);
    sent.push_back(each.bytes);
  }
  EXPECT_THAT(sent, testing::UnorderedElementsAre(Udp(1), Udp(2)));
  EXPECT_THAT(Sent(2), SizeIs(2));
}

TEST_F(CaptureHandOverTest, WhatTheRingBetweenWorkersDoesNotTakeIsLostAtThePort) {
  Start({.port = 2});
  const unsigned owner = switch_.engine().Workers()[0].rx_queues == 2 ? 0 : 1;
  const uint16_t queue = owner == 0 ? 1 : 0;
  for (int i = 0; i < 2000; ++i) switch_.port(1).Deliver(Udp(53), queue);
  while (switch_.engine().worker(1 - owner).RunOnce() != 0) continue;
  const uint64_t full = Stats(2).drop_tx_full;
  EXPECT_GT(full, 0u);
  while (switch_.engine().worker(owner).RunOnce() != 0) continue;
  std::map<CapturePoint, uint64_t> seen;
  for (const Taken& each : Take()) ++seen[each.packet.point];
  EXPECT_EQ(seen[CapturePoint::kLost], full);
  EXPECT_EQ(seen[CapturePoint::kSent], Sent(2).size());
  EXPECT_EQ(seen[CapturePoint::kLost] + seen[CapturePoint::kSent], 2000u);
}

// Runs a step over and over in a thread of its own.
class Repeating {
 public:
  explicit Repeating(std::function<void()> step)
      : thread_([this, step = std::move(step)] {
          while (!stop_) step();
        }) {}
  ~Repeating() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

bool WaitUntil(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

void ComeAndGo(Engine& engine, uint64_t flow) {
  const auto of_port = *engine.StartCapture({.port = 2});
  const auto of_flow = *engine.StartCapture({.flow_id = flow, .filter = MatchOf({{Field::kEthType, 0x0800}})});
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  engine.StopCapture(*of_port);
  engine.EndCapture(*of_flow);
  engine.StopCapture(*of_flow);
}

// Captures come and go, and are drained, while workers run.
TEST(CaptureThreadsTest, ComeAndGoWhileWorkersRun) {
  TestPool();
  TestSwitch of(2);
  Engine& engine = of.engine();
  MemoryPort& in = of.AddPort(1, {.rx_queues = 2});
  MemoryPort& out = of.AddPort(2, {.tx_queues = 1});
  const uint64_t flow = of.AddFlow({}, {OutputTo(2)});
  engine.Start();
  const auto of_all = *engine.StartCapture({});
  std::map<uint64_t, uint64_t> seen;
  const auto drain = [&] {
    engine.TakeCaptured([&](const CapturedPacket& packet, std::span<const uint8_t> bytes) {
      ++seen[packet.capture_id];
      EXPECT_EQ(bytes.size(), 60u);
    });
  };
  Repeating traffic([&in] {
    for (uint16_t i = 0; i < 128; ++i) in.Deliver(Udp(i), i % 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  Repeating drainer(drain);
  for (int i = 0; i < 50; ++i) ComeAndGo(engine, flow);
  traffic.Stop();
  EXPECT_TRUE(WaitUntil([&] {
    return in.Waiting() == 0 && out.SentCount() + engine.StatsOf(2)->drop_tx_full == engine.Totals().received;
  }));
  engine.EndCapture(*of_all);
  EXPECT_TRUE(WaitUntil([&] { return of_all->over(); }));
  drainer.Stop();
  drain();
  // Each packet was received, and was sent or lost.
  EXPECT_EQ(seen[of_all->id()] + of_all->missed(), 2 * engine.Totals().received);
  EXPECT_GT(seen[of_all->id()], 1000u);
  EXPECT_GT(seen.size(), 50u);
  EXPECT_TRUE(of.Conserves());
  engine.StopCapture(*of_all);
}

}  // namespace
}  // namespace sluice
