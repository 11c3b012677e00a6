// Workers in their own threads, with changes from others meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {
namespace {

using testing::ElementsAreArray;

// Sanitizers slow the same work down; they look for other things than volume.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kScale = 1;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int kScale = 1;
#else
constexpr int kScale = 10;
#endif
#else
constexpr int kScale = 10;
#endif

Bytes Udp(uint16_t dst, std::string_view payload = "payload", uint8_t ttl = 64) {
  return PacketBuilder().Ipv4({.ttl = ttl}).Udp({.dst = dst}).Payload(payload).PadTo(60).Build();
}

bool WaitUntil(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

class ThreadsTest : public testing::Test {
 protected:
  void Start(unsigned workers) {
    TestPool();
    free_before_ = FreeBuffers();
    switch_.emplace(workers);
  }
  void TearDown() override {
    if (!switch_) return;
    EXPECT_TRUE(switch_->Conserves());
    switch_.reset();
    EXPECT_EQ(FreeBuffers(), free_before_);
  }
  uint64_t Received() { return switch_->engine().Totals().received; }

  std::optional<TestSwitch> switch_;
  unsigned free_before_ = 0;
};

// One transmit queue for two workers: the hand-over ring keeps each receive
// queue's order, and nothing is lost on the way.
TEST_F(ThreadsTest, HandOverKeepsOrderPerQueue) {
  Start(2);
  switch_->AddPort(1, {.rx_queues = 2});
  MemoryPort& out = switch_->AddPort(2, {.rx_queues = 1, .tx_queues = 1});
  switch_->AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(2)});
  switch_->engine().Start();
  std::vector<Bytes> expected[2];
  const size_t frames = 2000 * kScale;
  for (size_t i = 0; i < frames; ++i) {
    for (uint16_t queue = 0; queue < 2; ++queue) {
      expected[queue].push_back(Udp(queue, std::to_string(i)));
      switch_->port(1).Deliver(expected[queue].back(), queue);
    }
    // No faster than the ring drains: losing frames there is another test.
    if (i % 128 == 0) {
      ASSERT_TRUE(WaitUntil([&] { return out.SentCount() + 256 > 2 * i; }));
    }
  }
  ASSERT_TRUE(WaitUntil([&] { return out.SentCount() == 2 * frames; }));
  std::vector<Bytes> sent[2];
  for (Bytes& frame : out.TakeSent()) sent[frame[37]].push_back(std::move(frame));
  EXPECT_THAT(sent[0], ElementsAreArray(expected[0]));
  EXPECT_THAT(sent[1], ElementsAreArray(expected[1]));
  for (const WorkerInfo& worker : switch_->engine().Workers()) EXPECT_EQ(worker.totals.received, frames);
}

TEST_F(ThreadsTest, HandOverRingIsBounded) {
  Start(2);
  switch_->AddPort(1, {.rx_queues = 2});
  MemoryPort& out = switch_->AddPort(2, {.tx_queues = 1});
  switch_->AddFlow({}, {OutputTo(2)});
  const std::vector<WorkerInfo> workers = switch_->engine().Workers();
  // The owner does not run, the other fills the ring.
  const unsigned owner = workers[0].rx_queues == 2 ? 0 : 1;
  const uint16_t queue = owner == 0 ? 1 : 0;
  for (int i = 0; i < 2000; ++i) switch_->port(1).Deliver(Udp(53), queue);
  while (switch_->engine().worker(1 - owner).RunOnce() != 0) continue;
  EXPECT_EQ(out.SentCount(), 0u);
  const uint64_t lost = switch_->engine().StatsOf(2)->drop_tx_full;
  EXPECT_EQ(lost, 2000u - 1023u);
  while (switch_->engine().worker(owner).RunOnce() != 0) continue;
  EXPECT_EQ(out.SentCount() + lost, 2000u);
  EXPECT_EQ(switch_->engine().Totals().forwarded, 2000u);
}

TEST_F(ThreadsTest, RemovalSendsWhatWasHandedOver) {
  Start(2);
  switch_->AddPort(1, {.rx_queues = 2});
  MemoryPort out(TestPool(), {.tx_queues = 1});
  ASSERT_TRUE(switch_->engine().Attach(out, 2, {}).ok());
  switch_->AddFlow({}, {OutputTo(2)});
  for (uint16_t queue = 0; queue < 2; ++queue) switch_->port(1).Deliver(Udp(53), queue);
  for (unsigned worker = 0; worker < 2; ++worker) {
    // Never both rounds of the owner last: one frame stays in the ring.
    if (switch_->engine().Workers()[worker].rx_queues == 2) switch_->engine().worker(worker).RunOnce();
  }
  for (unsigned worker = 0; worker < 2; ++worker) {
    if (switch_->engine().Workers()[worker].rx_queues == 1) switch_->engine().worker(worker).RunOnce();
  }
  EXPECT_EQ(out.SentCount(), 1u);
  EXPECT_EQ(switch_->engine().Detach(2)->transmit_packets, 2u);
  EXPECT_EQ(out.SentCount(), 2u);
}

TEST_F(ThreadsTest, QueuesAreSpreadOverWorkers) {
  Start(2);
  switch_->AddPort(1, {.rx_queues = 1});
  switch_->AddPort(2, {.rx_queues = 1});
  switch_->AddPort(3, {.rx_queues = 4});
  for (const WorkerInfo& worker : switch_->engine().Workers()) EXPECT_EQ(worker.rx_queues, 3u);
  switch_->RemovePort(3);
  for (const WorkerInfo& worker : switch_->engine().Workers()) EXPECT_EQ(worker.rx_queues, 1u);
}

// Creates, replaces and deletes flows at random until told to stop, then deletes
// the rest. Sums the final counters of all their lives.
class RandomChanges {
 public:
  explicit RandomChanges(TestSwitch& test_switch) : switch_(test_switch), thread_([this] { Run(); }) {}
  // Packets that flows have counted.
  uint64_t Stop() {
    stop_ = true;
    thread_.join();
    return counted_;
  }

 private:
  void Run() {
    while (!stop_) {
      if (flows_.size() < 20 || random_() % 2 == 0) {
        Create();
      } else {
        Delete(random_() % flows_.size());
      }
      ASSERT_TRUE(switch_.Conserves());
    }
    while (!flows_.empty()) Delete(0);
  }

  void Create() {
    ActionList actions = {OutputTo(1 + random_() % 6), Of(ActionType::kDecTtl), OutputTo(1 + random_() % 6)};
    if (random_() % 4 == 0) actions = {Of(ActionType::kOutputAll)};
    if (random_() % 4 == 0) actions.erase(actions.begin());
    if (random_() % 8 == 0) actions.clear();
    CreateFlow create;
    create.spec.priority = static_cast<uint16_t>(flows_.size() * 100 + random_() % 100);
    create.spec.match = MatchOf({{Field::kUdpDst, random_() % 50}});
    create.spec.actions = actions;
    create.allow_existing = true;
    const FlowChange change = create;
    switch_.flows().Write({&change, 1}, BatchMode::kPerItem, false, [this](std::vector<FlowChangeResult> results) {
      if (results[0].created) flows_.push_back(results[0].flow.id);
    });
  }

  void Delete(size_t victim) {
    counted_ += switch_.DeleteFlow(flows_[victim]).packets;
    flows_.erase(flows_.begin() + static_cast<ptrdiff_t>(victim));
  }

  TestSwitch& switch_;
  std::mt19937 random_{7};
  std::vector<uint64_t> flows_;
  uint64_t counted_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Flows come, change and go while packets of all kinds run; whenever somebody
// looks, received = forwarded + drops, and in the end every packet of a flow is
// in the counters of one of its lives.
TEST_F(ThreadsTest, ConservationUnderRandomChanges) {
  Start(2);
  for (uint32_t number = 1; number <= 4; ++number) {
    switch_->AddPort(number, {.rx_queues = 2, .tx_queues = 2}).KeepNothing();
  }
  switch_->engine().Start();
  RandomChanges changes(*switch_);
  std::mt19937 random(11);
  const uint64_t frames = 4000 * kScale;
  for (uint64_t i = 0; i < frames; ++i) {
    Bytes frame = Udp(static_cast<uint16_t>(random() % 50), "x", static_cast<uint8_t>(1 + random() % 2));
    if (random() % 64 == 0) frame.resize(random() % 20);
    switch_->port(1 + random() % 4).Deliver(std::move(frame), random() % 2);
    if (i % 256 == 0) ASSERT_TRUE(WaitUntil([&] { return Received() + 512 > i; }));
  }
  EXPECT_TRUE(WaitUntil([&] { return Received() == frames; }));
  const uint64_t counted = changes.Stop();
  const PacketTotals totals = switch_->engine().Totals();
  EXPECT_EQ(totals.received, frames);
  EXPECT_EQ(counted, frames - switch_->Drops(DropReason::kNoFlow) - switch_->Drops(DropReason::kMalformed));
  EXPECT_GT(totals.forwarded, 0u);
  EXPECT_GT(switch_->Drops(DropReason::kTtl), 0u);
  EXPECT_GT(switch_->Drops(DropReason::kNoSuchPort), 0u);
}

// Whoever sees that N packets were received sees their flow and port counters.
TEST_F(ThreadsTest, CountersAreCompleteOnceReceivedIsSeen) {
  Start(1);
  switch_->AddPort(1);
  switch_->AddPort(2).KeepNothing();
  const uint64_t flow = switch_->AddFlow({}, {OutputTo(2)});
  switch_->engine().Start();
  for (uint64_t i = 1; i <= 500u * kScale; ++i) {
    switch_->port(1).Deliver(Udp(53));
    const bool by_port = i % 2 == 0;
    ASSERT_TRUE(WaitUntil([&] { return (by_port ? switch_->engine().StatsOf(1)->receive_packets : Received()) == i; }));
    ASSERT_EQ(Received(), i);
    ASSERT_EQ(switch_->engine().StatsOf(1)->receive_packets, i);
    ASSERT_EQ(switch_->engine().StatsOf(2)->transmit_packets, i);
    ASSERT_EQ(switch_->StatsOf(flow).packets, i);
  }
}

// A flow is deleted and added again while packets run that it shares with
// another: each is counted by one of the two.
TEST_F(ThreadsTest, PacketsOfADeletedFlowFallToTheNext) {
  Start(1);
  switch_->AddPort(1);
  switch_->AddPort(2).KeepNothing();
  switch_->AddPort(3).KeepNothing();
  const uint64_t below = switch_->AddFlow({}, {OutputTo(2)}, 10);
  switch_->engine().Start();
  uint64_t sent = 0;
  uint64_t counted = 0;
  for (int round = 0; round < 200 * kScale; ++round) {
    const uint64_t above = switch_->AddFlow(MatchOf({{Field::kUdpDst, 53}}), {OutputTo(3)}, 20);
    for (int i = 0; i < 5; ++i) switch_->port(1).Deliver(Udp(53));
    sent += 5;
    counted += switch_->DeleteFlow(above).packets;
  }
  ASSERT_TRUE(WaitUntil([&] { return Received() == sent; }));
  EXPECT_EQ(switch_->engine().Totals().forwarded, sent);
  EXPECT_EQ(counted + switch_->DeleteFlow(below).packets, sent);
  EXPECT_EQ(switch_->port(2).SentCount() + switch_->port(3).SentCount(), sent);
}

TEST_F(ThreadsTest, PortsComeAndGoUnderTraffic) {
  Start(2);
  switch_->AddPort(1, {.rx_queues = 2, .tx_queues = 2});
  switch_->AddFlow(MatchOf({{Field::kInPort, 1}}), {OutputTo(2)});
  switch_->engine().Start();
  uint64_t transmitted = 0;
  uint64_t lost = 0;
  uint64_t sent = 0;
  for (int round = 0; round < 1000; ++round) {
    switch_->AddPort(2, {.rx_queues = 1, .tx_queues = static_cast<uint16_t>(1 + round % 2)}).KeepNothing();
    for (uint16_t queue = 0; queue < 2; ++queue) switch_->port(1).Deliver(Udp(53), queue);
    sent += 2;
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    const PortStats stats = switch_->RemovePort(2);
    transmitted += stats.transmit_packets;
    lost += stats.drop_tx_full;
  }
  ASSERT_TRUE(WaitUntil([&] { return Received() == sent; }));
  EXPECT_EQ(transmitted + lost, switch_->engine().Totals().forwarded);
  EXPECT_EQ(switch_->engine().Totals().forwarded + switch_->Drops(DropReason::kNoSuchPort), sent);
  EXPECT_GT(transmitted, 0u);
}

TEST_F(ThreadsTest, IdleWorkersSleepAndWakeInTime) {
  Start(1);
  switch_->AddPort(1);
  MemoryPort& out = switch_->AddPort(2);
  switch_->AddFlow({}, {OutputTo(2)});
  switch_->engine().Start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const WorkerInfo idle = switch_->engine().Workers()[0];
  EXPECT_GT(idle.sleeps, 10u);
  EXPECT_EQ(idle.busy_cycles, 0u);
  EXPECT_GT(idle.idle_cycles, 0u);
  switch_->port(1).Deliver(Udp(53));
  ASSERT_TRUE(WaitUntil([&] { return out.SentCount() == 1; }));
  const WorkerInfo busy = switch_->engine().Workers()[0];
  EXPECT_GT(busy.busy_cycles, 0u);
  EXPECT_EQ(busy.bursts, 1u);
}

// Where devices can wake it, an idle worker costs next to nothing, and still
// notices frames, new ports and its end at once.
TEST_F(ThreadsTest, DevicesWakeIdleWorkers) {
  Start(2);
  switch_->AddPort(1, {.rx_queues = 2, .tx_queues = 2}, {}, true);
  MemoryPort& out = switch_->AddPort(2, {.rx_queues = 2, .tx_queues = 2}, {}, true);
  switch_->AddFlow({}, {OutputTo(2)});
  switch_->engine().Start();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto sleeps = [&] { return switch_->engine().Workers()[0].sleeps + switch_->engine().Workers()[1].sleeps; };
  const uint64_t before = sleeps();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LE(sleeps() - before, 2 * 500 / 50 + 4);
  for (size_t i = 1; i <= 200; ++i) {
    const auto sent_at = std::chrono::steady_clock::now();
    switch_->port(1).Deliver(Udp(53), i % 2);
    while (out.SentCount() != i) std::this_thread::yield();
    // Not woken, it would be 50 ms; leave room for a busy machine.
    if (i == 200) {
      EXPECT_LT(std::chrono::steady_clock::now() - sent_at, std::chrono::seconds(5));
    }
  }
  MemoryPort& late = switch_->AddPort(3, {.rx_queues = 2, .tx_queues = 2}, {}, true);
  late.Deliver(Udp(53));
  ASSERT_TRUE(WaitUntil([&] { return out.SentCount() == 201; }));
}

}  // namespace
}  // namespace sluice
