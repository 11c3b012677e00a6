#include "dataplane/worker/tracer.h"

#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/classifier/entry.h"
#include "dataplane/flow/flow_explanation.h"
#include "dataplane/port/buffers.h"
#include "dataplane/worker/engine.h"
#include "dataplane/worker/execute.h"
#include "dataplane/worker/prepare.h"
#include "dataplane/worker/transmit.h"

namespace sluice {
namespace {

// What a trace may hold, all in all: others wait for its locks, and clients take no more than 4 MiB.
constexpr size_t kMostBytes = size_t{3} << 20;
// What there is of each beside frames, about.
constexpr size_t kTableBytes = 512, kFlowBytes = 256, kMaskBytes = 64, kActionBytes = 64;

FrameBytes BytesOf(const rte_mbuf* mbuf) {
  FrameBytes bytes;
  for (const rte_mbuf* segment = mbuf; segment != nullptr; segment = segment->next) {
    const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
    bytes.insert(bytes.end(), data, data + segment->data_len);
  }
  return bytes;
}

absl::Status TooLong(size_t frame_bytes) {
  return absl::ResourceExhaustedError(absl::StrCat("the packet's way is too long to be told: more than ",
                                                   kMostBytes >> 20, " MiB with the frame, of ", frame_bytes,
                                                   " bytes, behind each action; trace a shorter frame"));
}

// A port that keeps what it is given.
class TracePort : public Port {
 public:
  explicit TracePort(const Traits& traits) : Port(traits) {}
  uint16_t Receive(uint16_t, rte_mbuf**, uint16_t) override { return 0; }
  uint16_t Transmit(uint16_t, rte_mbuf** mbufs, uint16_t n) override {
    for (uint16_t i = 0; i < n; ++i) sent_.push_back(BytesOf(mbufs[i]));
    FreeBuffers(mbufs, n);
    return n;
  }
  std::vector<FrameBytes> TakeSent() { return std::exchange(sent_, {}); }

 private:
  std::vector<FrameBytes> sent_;
};

// The switch's ports as they are, each with a TracePort in its place.
class TracePorts {
 public:
  explicit TracePorts(const Snapshot& real) : snapshot_(std::make_unique<Snapshot>(real)) {
    for (unsigned i = 0; i < real.port_count; ++i) {
      ports_.push_back(std::make_unique<TracePort>(real.ports[i].attached->port->traits()));
      attached_[i].number = real.ports[i].number;
      attached_[i].port = ports_.back().get();
      attached_[i].counters = std::make_unique<PortCounters[]>(1);
      snapshot_->ports[i].attached = &attached_[i];
    }
  }
  const Snapshot& snapshot() const { return *snapshot_; }

  // What came since the last time, by port.
  std::vector<TracedOutput> Take() {
    std::vector<TracedOutput> outputs;
    for (size_t i = 0; i < ports_.size(); ++i) {
      const uint32_t number = attached_[i].number;
      for (FrameBytes& frame : ports_[i]->TakeSent()) {
        outputs.push_back({number, TracedOutput::Fate::kSent, std::move(frame)});
      }
      PortCounters& counters = attached_[i].counters[0];
      const auto lost = [&](const auto& counter, TracedOutput::Fate fate) {
        for (uint64_t n = counter.Get(); n > 0; --n) outputs.push_back({number, fate, {}});
      };
      lost(counters.drop_down, TracedOutput::Fate::kDown);
      lost(counters.drop_mtu, TracedOutput::Fate::kMtu);
      lost(counters.drop_no_buffers, TracedOutput::Fate::kNoBuffers);
      attached_[i].counters = std::make_unique<PortCounters[]>(1);
    }
    return outputs;
  }

 private:
  std::unique_ptr<Snapshot> snapshot_;
  std::vector<std::unique_ptr<TracePort>> ports_;
  std::array<AttachedPort, Dataplane::kMaxPorts> attached_;
};

class Tracer {
 public:
  Tracer(Engine& engine, const Snapshot& real, const FlowTable::ExplainTable& explain, rte_mempool* pool)
      : ports_(real),
        explain_(explain),
        transmitter_(0, pool),
        executor_(Executor::Rehearsing(pool, transmitter_, engine.tables(), clock_, counters_)) {
    executor_.punts().Listen(engine.listens_for_packets());
  }

  bool IsTooLong() const { return bytes_ > kMostBytes; }

  TraceResult Run(uint8_t ingress, rte_mbuf* mbuf) {
    const auto burst = std::make_unique<Burst>();
    burst->count = 1;
    burst->mbufs[0] = mbuf;
    Prepare(*burst, ports_.snapshot().ports[ingress].number, true);
    if (burst->count == 0) {
      result_.drop_reason = burst->totals.drops[static_cast<int>(DropReason::kMalformed)] != 0 ? DropReason::kMalformed
                                                                                               : DropReason::kNoBuffers;
      return std::move(result_);
    }
    PacketInHand packet{.snapshot = ports_.snapshot(),
                        .ingress = ingress,
                        .mbuf = burst->mbufs[0],
                        .layout = burst->layouts[0],
                        .key = burst->keys[0],
                        .bytes = burst->bytes[0]};
    Walk(packet);
    FreeBuffer(packet.mbuf);
    result_.forwarded = packet.forwarded;
    result_.drop_reason = packet.cause;
    return std::move(result_);
  }

 private:
  // As Pipeline::Walk.
  void Walk(PacketInHand& packet) {
    executor_.Begin();
    for (;;) {
      FlowExplanation explanation = explain_(packet.table_id, packet.key);
      TracedTable& table = result_.tables.emplace_back();
      table.table_id = packet.table_id;
      table.key = packet.key;
      table.masks = std::move(explanation.masks);
      table.flows = std::move(explanation.flows);
      table.flows_left_out = explanation.left_out;
      bytes_ += kTableBytes + table.masks.size() * kMaskBytes + table.flows.size() * kFlowBytes;
      table.miss_policy = explanation.miss_policy;
      packet.entry = explanation.winner;
      const uint8_t next = packet.entry != nullptr ? Carry(packet, ActionsOf(*packet.entry), table.actions)
                                                   : Miss(packet, explanation.miss_policy);
      if (packet.ended || next == 0 || IsTooLong()) break;
      packet.table_id = next;
      executor_.Refresh(packet);
    }
    for (const Action* action : executor_.TakeSet(packet)) {
      if (packet.ended || IsTooLong()) break;
      TracedAction& traced = result_.action_set.emplace_back(TracedAction{.action = *action});
      executor_.Do(packet, *action, false);
      Note(packet, traced);
    }
  }

  uint8_t Carry(PacketInHand& packet, std::span<const Action> list, std::vector<TracedAction>& traced) {
    const size_t needed = executor_.Needed(list);
    uint8_t next = 0;
    for (size_t at = 0; at < list.size() && !packet.ended && next == 0 && !IsTooLong(); ++at) {
      TracedAction& step = traced.emplace_back(TracedAction{.action = list[at], .carried_out = at < needed});
      if (at < needed) next = executor_.Step(packet, list[at], false);
      Note(packet, step);
    }
    return next;
  }

  // A copy for controllers is the table's, and of no action behind it.
  uint8_t Miss(PacketInHand& packet, MissPolicy policy) {
    const uint8_t next = executor_.Miss(packet, policy);
    punted_ = counters_.punted.Get();
    return next;
  }

  void Note(PacketInHand& packet, TracedAction& traced) {
    transmitter_.Flush(ports_.snapshot());
    traced.outputs = ports_.Take();
    traced.to_controllers = counters_.punted.Get() != punted_;
    punted_ = counters_.punted.Get();
    if (packet.mbuf != nullptr) traced.after = BytesOf(packet.mbuf);
    bytes_ += kActionBytes + traced.after.size();
    for (const TracedOutput& output : traced.outputs) bytes_ += kActionBytes + output.frame.size();
  }

  TracePorts ports_;
  const FlowTable::ExplainTable& explain_;
  Transmitter transmitter_;
  WorkerClock clock_;
  WorkerCounters counters_;
  uint64_t punted_ = 0;  // of counters_, when last looked at
  size_t bytes_ = 0;     // of result_, about
  Executor executor_;
  TraceResult result_;
};

}  // namespace

absl::StatusOr<TraceResult> Trace(Engine& engine, const FlowTable& flows, rte_mempool* pool, uint32_t in_port,
                                  std::span<const uint8_t> frame) {
  absl::StatusOr<TraceResult> result = absl::NotFoundError(absl::StrCat("there is no port ", in_port));
  engine.WithSnapshot([&](const Snapshot& snapshot) {
    const uint8_t ingress = snapshot.IndexOf(in_port);
    if (ingress == Snapshot::kNoPort) return;
    flows.Explain([&](const FlowTable::ExplainTable& explain) {
      rte_mbuf* mbuf = NewBufferWith(frame, pool);
      if (mbuf == nullptr) {
        result = absl::ResourceExhaustedError("no packet buffer is free");
        return;
      }
      Tracer tracer(engine, snapshot, explain, pool);
      result = tracer.Run(ingress, mbuf);
      if (tracer.IsTooLong()) result = TooLong(frame.size());
    });
  });
  return result;
}

}  // namespace sluice
