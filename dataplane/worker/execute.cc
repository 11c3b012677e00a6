#include "dataplane/worker/execute.h"

#include <bit>

#include "dataplane/port/buffers.h"

namespace sluice {
namespace {

// How many actions there are up to the last output; 0: there is none.
size_t UpToLastOutput(std::span<const Action> actions) {
  size_t n = actions.size();
  while (n != 0 && !IsOutput(actions[n - 1])) --n;
  return n;
}

}  // namespace

void Executor::Packet::NotSent(DropReason reason) {
  if (has_cause) return;
  has_cause = true;
  cause = reason;
}

void Executor::RunAll(const Snapshot& snapshot, uint8_t ingress, std::span<const Action> actions, Burst& burst,
                      unsigned i) {
  Packet packet{.snapshot = snapshot, .ingress = ingress, .mbuf = burst.mbufs[i], .layout = burst.layouts[i]};
  const size_t n = UpToLastOutput(actions);
  for (size_t at = 0; at < n && !packet.ended; ++at) {
    if (IsOutput(actions[at])) {
      Output(packet, actions[at], at + 1 == n);
    } else {
      Apply(packet, actions[at]);
    }
  }
  if (packet.mbuf != nullptr) FreeBuffer(packet.mbuf);
  if (packet.forwarded) {
    ++burst.totals.forwarded;
  } else {
    ++burst.totals.drops[static_cast<int>(packet.cause)];
  }
}

void Executor::Apply(Packet& packet, const Action& action) {
  if (action.type == ActionType::kPushVlan) {
    if (!action.only_if_untagged || packet.layout.vlan_tags == 0) Push(packet, action.tpid);
    return;
  }
  Frame frame = FrameOf(packet.mbuf);
  if (action.type == ActionType::kSetField) {
    SetField(frame, packet.layout, action.field, action.value, action.mask);
  } else if (action.type == ActionType::kPopVlan) {
    PopVlan(frame, packet.layout);
    PutFrame(packet.mbuf, frame);
  } else if (action.type == ActionType::kDecTtl && !DecrementTtl(frame, packet.layout)) {
    packet.NotSent(DropReason::kTtl);
    packet.ended = true;
  }
}

// A copy has its whole headroom again.
void Executor::Push(Packet& packet, uint16_t tpid) {
  Frame frame = FrameOf(packet.mbuf);
  if (!PushVlan(frame, packet.layout, tpid)) {
    rte_mbuf* roomy = CopyBuffer(packet.mbuf, pool_);
    if (roomy == nullptr) {
      packet.NotSent(DropReason::kNoBuffers);
      packet.ended = true;
      return;
    }
    FreeBuffer(packet.mbuf);
    packet.mbuf = roomy;
    frame = FrameOf(roomy);
    PushVlan(frame, packet.layout, tpid);
  }
  PutFrame(packet.mbuf, frame);
}

void Executor::Output(Packet& packet, const Action& action, bool last) {
  if (action.type == ActionType::kOutputAll) return OutputAll(packet, last);
  const bool back = action.type == ActionType::kOutputInPort;
  const uint8_t port = back ? packet.ingress : packet.snapshot.IndexOf(action.port);
  if (port == Snapshot::kNoPort) return packet.NotSent(DropReason::kNoSuchPort);
  if (port == packet.ingress && !back) return packet.NotSent(DropReason::kOutputToIngress);
  Send(packet, port, last);
}

void Executor::OutputAll(Packet& packet, bool last) {
  uint32_t rest = packet.snapshot.enabled & ~(1u << packet.ingress);
  if (rest == 0) return packet.NotSent(DropReason::kOutputToIngress);
  for (; rest != 0; rest &= rest - 1) {
    const bool last_copy = (rest & (rest - 1)) == 0;
    Send(packet, static_cast<uint8_t>(std::countr_zero(rest)), last && last_copy);
  }
}

void Executor::Send(Packet& packet, uint8_t port, bool last) {
  const PortView& view = packet.snapshot.ports[port];
  packet.forwarded = true;
  if (last) {
    transmitter_.Send(view, port, packet.mbuf, packet.layout.vlan_tags);
    packet.mbuf = nullptr;
  } else {
    transmitter_.SendCopy(view, port, packet.mbuf, packet.layout.vlan_tags);
  }
}

}  // namespace sluice
