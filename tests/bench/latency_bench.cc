// What an attack costs those who behave: a generator on a core of its own sends
// packets through the switch by rings, at half of what the switch can carry, and
// measures how long those of 1,000 microflows take, a tenth of all: alone, under
// attack by the other nine tenths, which are of as many microflows as the capture
// has and flood the flow cache, and busy, at the whole rate with nobody else. What
// the attack does beyond being load is the difference of the last two.
//
//   latency_bench DIR FLOW_CACHE_ENTRIES [SECONDS]
//
// DIR is one that workloads.py made. CPU 1 forwards, CPU 0 generates. Prints a
// JSON line. Latency is from the one ring to the other: at most 512 packets are
// on their way at a time, so that rings of 1,024 lose nothing by themselves.

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "dataplane/dataplane.h"
#include "dataplane/worker/placement.h"
#include "tests/bench/workload.h"

namespace sluice {
namespace {

constexpr size_t kFrameBytes = 60;
constexpr size_t kStampAt = 52;  // no flow looks there
constexpr size_t kLegitimate = 1000;
constexpr unsigned kMostOnTheirWay = 512;
constexpr unsigned kBurst = 32;

using FrameBytes = std::array<char, kFrameBytes>;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "latency_bench: %s\n", what.c_str());
  std::exit(1);
}

// The distinct frames of a capture, all of kFrameBytes.
std::vector<FrameBytes> ReadFrames(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<FrameBytes> frames;
  for (size_t at = 24; at + 16 + kFrameBytes <= bytes.size(); at += 16 + kFrameBytes) {
    std::memcpy(frames.emplace_back().data(), bytes.data() + at + 16, kFrameBytes);
  }
  return frames;
}

struct Load {
  double mpps = 0;               // 0: as fast as it goes
  bool legitimate_only = false;  // no other packets
};

struct Outcome {
  uint64_t sent = 0;
  uint64_t received = 0;
  double mpps = 0;
  double p50_us = 0;
  double p99_us = 0;
};

class Generator {
 public:
  Generator(const std::vector<FrameBytes>& frames, rte_mempool* pool, rte_ring* in, rte_ring* out)
      : frames_(frames), pool_(pool), in_(in), out_(out), hz_(static_cast<double>(rte_get_tsc_hz())) {}

  Outcome Run(const Load& load, double seconds) {
    Outcome outcome;
    std::vector<uint64_t> latencies;
    latencies.reserve(1 << 24);
    const uint64_t start = rte_rdtsc();
    const auto end = start + static_cast<uint64_t>(seconds * hz_);
    const double packets_a_cycle = load.mpps * 1e6 / hz_;
    uint64_t now = start;
    uint64_t paced_from = start;
    uint64_t paced = 0;
    for (; now < end; now = rte_rdtsc()) {
      unsigned due = kBurst;
      if (load.mpps != 0) {
        const auto by_now = static_cast<uint64_t>(static_cast<double>(now - paced_from) * packets_a_cycle);
        // After a stall of this thread it does not catch up: that would be another load.
        if (by_now > paced + kMostOnTheirWay) {
          paced_from = now;
          paced = 0;
          due = 0;
        } else {
          due = static_cast<unsigned>(std::min<uint64_t>(kBurst, by_now - paced));
        }
      }
      if (outcome.sent - outcome.received + due <= kMostOnTheirWay && due != 0) {
        outcome.sent += Send(due, load.legitimate_only);
        paced += due;
      }
      Receive(outcome, latencies);
    }
    outcome.mpps = static_cast<double>(outcome.received) / (static_cast<double>(now - start) / hz_) / 1e6;
    // What is still on its way.
    for (const uint64_t last = rte_rdtsc() + static_cast<uint64_t>(hz_ / 10); rte_rdtsc() < last;)
      Receive(outcome, latencies);
    std::ranges::sort(latencies);
    if (!latencies.empty()) {
      outcome.p50_us = static_cast<double>(latencies[latencies.size() / 2]) / hz_ * 1e6;
      outcome.p99_us = static_cast<double>(latencies[latencies.size() * 99 / 100]) / hz_ * 1e6;
    }
    return outcome;
  }

 private:
  unsigned Send(unsigned n, bool legitimate_only) {
    std::array<rte_mbuf*, kBurst> mbufs;
    if (rte_pktmbuf_alloc_bulk(pool_, mbufs.data(), n) != 0) Fail("no packet buffers");
    const uint64_t now = rte_rdtsc();
    for (unsigned i = 0; i < n; ++i) {
      const bool legitimate = legitimate_only || ++packet_ % 10 == 0;
      const size_t frame =
          legitimate ? next_legitimate_++ % kLegitimate : kLegitimate + next_attack_++ % (frames_.size() - kLegitimate);
      char* bytes = rte_pktmbuf_append(mbufs[i], kFrameBytes);
      std::memcpy(bytes, frames_[frame].data(), kFrameBytes);
      const uint64_t stamp = legitimate ? now : 0;
      std::memcpy(bytes + kStampAt, &stamp, sizeof stamp);
    }
    const unsigned taken = rte_ring_sp_enqueue_burst(in_, reinterpret_cast<void**>(mbufs.data()), n, nullptr);
    if (taken != n) Fail("the ring in front of the switch is full");
    return n;
  }

  void Receive(Outcome& outcome, std::vector<uint64_t>& latencies) {
    std::array<rte_mbuf*, kBurst> mbufs;
    const unsigned n = rte_ring_sc_dequeue_burst(out_, reinterpret_cast<void**>(mbufs.data()), kBurst, nullptr);
    if (n == 0) return;
    const uint64_t now = rte_rdtsc();
    for (unsigned i = 0; i < n; ++i) {
      uint64_t stamp = 0;
      std::memcpy(&stamp, rte_pktmbuf_mtod(mbufs[i], char*) + kStampAt, sizeof stamp);
      if (stamp != 0) latencies.push_back(now - stamp);
    }
    outcome.received += n;
    rte_pktmbuf_free_bulk(mbufs.data(), n);
  }

  const std::vector<FrameBytes>& frames_;
  rte_mempool* const pool_;
  rte_ring* const in_;
  rte_ring* const out_;
  const double hz_;
  uint64_t packet_ = 0;
  size_t next_legitimate_ = 0;
  size_t next_attack_ = 0;
};

rte_ring* RingOf(const std::string& device) {
  rte_ring* ring = rte_ring_lookup(("ETH_RXTX0_" + device).c_str());
  if (ring == nullptr) Fail("no ring of " + device);
  return ring;
}

void Run(const std::string& folder, uint32_t flow_cache_entries, double seconds) {
  const std::vector<FrameBytes> frames = ReadFrames(folder + "/packets.pcap");
  if (frames.size() <= kLegitimate) Fail("too few frames in " + folder);
  DataplaneConfig config;
  config.huge_pages = HugePages::kAuto;
  config.worker_cpus = {1};
  config.idle = IdleMode::kPoll;
  config.flow_cache_entries = flow_cache_entries;
  const auto dataplane = Dataplane::Start(config);
  if (!dataplane.ok()) Fail(std::string(dataplane.status().message()));
  for (uint32_t number : {1, 2}) {
    const std::string device = "net_ring" + std::to_string(number);
    const auto port =
        (*dataplane)
            ->AddPort({.name = device, .number = number, .device = DevargsDevice{device}, .receive = number == 1});
    if (!port.ok()) Fail(std::string(port.status().message()));
  }
  std::vector<FlowChange> changes;
  for (const FlowSpec& spec : ReadWorkload(folder).flows) {
    changes.push_back(CreateFlow{.spec = spec, .allow_existing = true});
  }
  (*dataplane)->flows().Write(changes, BatchMode::kPerItem, false, [](auto) {});
  if (!PinThisThread({0}).ok() || rte_thread_register() != 0) Fail("no CPU 0 for the generator");
  Generator generator(frames, rte_mempool_lookup("packets"), RingOf("net_ring1"), RingOf("net_ring2"));
  generator.Run({}, 2);  // fills the caches
  const Outcome capacity = generator.Run({}, seconds);
  const double half = capacity.mpps / 2;
  const Outcome alone = generator.Run({.mpps = half / 10, .legitimate_only = true}, seconds);
  const Outcome attacked = generator.Run({.mpps = half}, seconds);
  const Outcome busy = generator.Run({.mpps = half, .legitimate_only = true}, seconds);
  std::printf(
      "{\"capacity_mpps\": %.2f, \"attacked_mpps\": %.2f, \"lost\": %lu, \"lost_alone\": %lu, \"p50_us_alone\": %.2f, "
      "\"p50_us_attacked\": "
      "%.2f, \"p99_us_alone\": %.2f, \"p99_us_attacked\": %.2f, \"p50_us_busy\": %.2f, \"p99_us_busy\": %.2f}\n",
      capacity.mpps, attacked.mpps, attacked.sent - attacked.received, alone.sent - alone.received, alone.p50_us,
      attacked.p50_us, alone.p99_us, attacked.p99_us, busy.p50_us, busy.p99_us);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "latency_bench DIR FLOW_CACHE_ENTRIES [SECONDS]\n");
    return 2;
  }
  sluice::Run(argv[1], static_cast<uint32_t>(std::atoi(argv[2])), argc > 3 ? std::atof(argv[3]) : 5);
}
