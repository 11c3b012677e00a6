// What the tests of captures share: a switch of three ports, and what is captured
// of it as values to compare.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/packet_builder.h"
#include "tests/unit/dataplane/dataplane_testing.h"

namespace sluice {

inline void PrintTo(CapturePoint point, std::ostream* out) { *out << "point " << static_cast<int>(point); }

inline constexpr uint64_t kNewMac = 0x02000000aa01;

inline Bytes Udp(uint16_t dst = 53, size_t size = 60, uint8_t ttl = 64) {
  return PacketBuilder().Ipv4({.ttl = ttl}).Udp({.dst = dst}).Payload("payload").PadTo(size).Build();
}

// What SetTo(kEthDst, kNewMac) makes of a frame.
inline Bytes WithNewMac(Bytes frame) {
  const Bytes mac{0x02, 0, 0, 0, 0xaa, 0x01};
  std::copy(mac.begin(), mac.end(), frame.begin());
  return frame;
}

// As tests write down what they expect: where, at which port, and the bytes.
struct Seen {
  CapturePoint point;
  uint32_t port;
  Bytes bytes;

  friend bool operator==(const Seen&, const Seen&) = default;
};
inline void PrintTo(const Seen& seen, std::ostream* out) {
  *out << "point " << static_cast<int>(seen.point) << " port " << seen.port << " " << ToHex(seen.bytes);
}

struct Taken {
  CapturedPacket packet;
  Bytes bytes;

  Seen seen() const { return {packet.point, packet.port, bytes}; }
};

inline std::vector<Seen> SeenOf(const std::vector<Taken>& taken) {
  std::vector<Seen> seen;
  for (const Taken& each : taken) seen.push_back(each.seen());
  return seen;
}

class CaptureTapTest : public testing::Test {
 protected:
  explicit CaptureTapTest(unsigned workers = 1) : free_before_((TestPool(), FreeBuffers())), switch_(workers) {}
  void SetUp() override {
    for (uint32_t number = 1; number <= 3; ++number) switch_.AddPort(number);
  }
  void TearDown() override {
    const PacketTotals totals = switch_.engine().Totals();
    uint64_t drops = 0;
    for (const uint64_t n : totals.drops) drops += n;
    EXPECT_EQ(totals.received + totals.injected, totals.forwarded + drops);
    for (const auto& capture : captures_) switch_.engine().StopCapture(*capture);
    // Nobody captures any more, and what is left of it is gone.
    switch_.Receive(1, {Udp()});
    EXPECT_THAT(Take(), testing::IsEmpty());
    for (uint32_t number = 1; number <= 3; ++number) switch_.port(number).TakeSent();
    EXPECT_EQ(FreeBuffers(), free_before_);
  }

  std::shared_ptr<const Capture> Start(const CaptureSpec& spec = {}) {
    auto capture = switch_.engine().StartCapture(spec);
    if (!capture.ok()) {
      ADD_FAILURE() << capture.status();
      std::abort();
    }
    captures_.push_back(*capture);
    return *capture;
  }
  std::vector<Taken> Take() {
    std::vector<Taken> taken;
    const unsigned n = switch_.engine().TakeCaptured([&](const CapturedPacket& packet, std::span<const uint8_t> bytes) {
      EXPECT_EQ(packet.kept, bytes.size());
      taken.push_back({packet, Bytes(bytes.begin(), bytes.end())});
    });
    EXPECT_EQ(n, taken.size());
    return taken;
  }
  std::vector<Seen> TakeSeen() { return SeenOf(Take()); }
  std::vector<Bytes> Sent(uint32_t port) { return switch_.port(port).TakeSent(); }
  PortStats Stats(uint32_t port) { return *switch_.engine().StatsOf(port); }
  absl::StatusOr<Dataplane::Sent> Inject(const Bytes& bytes, uint32_t in_port, ActionList actions) {
    return switch_.Send(bytes, in_port, std::move(actions));
  }

  const unsigned free_before_;
  TestSwitch switch_;
  std::vector<std::shared_ptr<const Capture>> captures_;
};

}  // namespace sluice
