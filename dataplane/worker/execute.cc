#include "dataplane/worker/execute.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/packet/field.h"
#include "dataplane/port/buffers.h"
#include "dataplane/worker/prepare.h"

namespace sluice {
namespace {

// False: nobody sees what the action does, but by an action behind it.
bool HasEffect(const Action& action) { return IsOutput(action) || action.type >= ActionType::kGroup; }

// How many actions of a list there are to carry out. With something in the action
// set, from before or by this list, all: the set sends the packet as it is then.
size_t UpToLastEffect(std::span<const Action> list, const ActionSet& set) {
  size_t n = list.size();
  if (!set.empty() || std::ranges::any_of(list, &Action::deferred)) return n;
  while (n != 0 && !HasEffect(list[n - 1])) --n;
  return n;
}

// A packet's field is there if the key's bits say so.
bool Has(const PacketKey& key, Field field) {
  const FieldLayout& layout = LayoutOf(field);
  uint16_t bits;
  std::memcpy(&bits, reinterpret_cast<const char*>(&key) + layout.required_offset, sizeof bits);
  return (bits & layout.required) == layout.required;
}

absl::uint128 LowBits(unsigned bits) { return bits == 0 ? 0 : absl::Uint128Max() >> (128 - bits); }

}  // namespace

uint8_t Executor::Carry(PacketInHand& packet, std::span<const Action> list) {
  const size_t n = UpToLastEffect(list, set_);
  for (size_t at = 0; at < n && !packet.ended; ++at) {
    const Action& action = list[at];
    if (action.deferred) {
      if (!set_.Add(action)) packet.Lose(DropReason::kActionSetFull);
    } else if (action.type == ActionType::kClearActions) {
      set_.Clear();
    } else if (action.type == ActionType::kGotoTable) {
      return static_cast<uint8_t>(action.port);
    } else {
      Do(packet, action, at + 1 == n && set_.empty());
    }
  }
  return 0;
}

void Executor::CarrySet(PacketInHand& packet) {
  if (packet.lost) return;
  packet.ended = false;
  const std::span<const Action* const> actions = set_.InOrder();
  for (size_t at = 0; at < actions.size() && !packet.ended; ++at) Do(packet, *actions[at], at + 1 == actions.size());
}

void Executor::Refresh(PacketInHand& packet) {
  if (!packet.rewritten) return;
  packet.rewritten = false;
  ParseAgain(packet.mbuf, packet.snapshot.ports[packet.ingress].number, packet.key, packet.layout);
}

// `last`: the packet is not needed afterwards.
void Executor::Do(PacketInHand& packet, const Action& action, bool last) {
  if (IsOutput(action)) {
    Output(packet, action, last);
  } else {
    Change(packet, action);
  }
}

void Executor::Change(PacketInHand& packet, const Action& action) {
  switch (action.type) {
    case ActionType::kSetField:
      return Set(packet, action.field, action.value, action.mask);
    case ActionType::kMoveField:
      return Move(packet, action);
    case ActionType::kPushVlan:
      if (action.only_if_untagged && packet.layout.vlan_tags != 0) return;
      return PushWith(packet, [&](Frame& frame) { return PushVlan(frame, packet.layout, action.tpid); });
    case ActionType::kPushMpls:
      return PushWith(packet, [&](Frame& frame) { return PushMpls(frame, packet.layout, action.tpid); });
    default:
      return ChangeFrame(packet, action);
  }
}

void Executor::ChangeFrame(PacketInHand& packet, const Action& action) {
  Frame frame = FrameOf(packet.mbuf);
  packet.rewritten = true;
  if (action.type == ActionType::kPopVlan) {
    PopVlan(frame, packet.layout);
    PutFrame(packet.mbuf, frame);
  } else if (action.type == ActionType::kPopMpls) {
    PopMpls(frame, packet.layout, action.tpid);
    PutFrame(packet.mbuf, frame);
  } else if (action.type == ActionType::kDecTtl ? !DecrementTtl(frame, packet.layout)
                                                : !DecrementMplsTtl(frame, packet.layout)) {
    packet.End(DropReason::kTtl);
  }
}

// Metadata and registers stand in the key alone.
void Executor::Set(PacketInHand& packet, Field field, absl::uint128 value, absl::uint128 mask) {
  if (IsPipelineField(field)) {
    packet.noted = true;
    PutField(packet.key, field, (GetField(packet.key, field) & ~mask) | (value & mask));
    return;
  }
  Frame frame = FrameOf(packet.mbuf);
  SetField(frame, packet.layout, field, value, mask);
  packet.rewritten = true;
}

void Executor::Move(PacketInHand& packet, const Action& action) {
  Refresh(packet);
  if (!Has(packet.key, action.field)) return;
  const absl::uint128 bits = LowBits(action.bits);
  const absl::uint128 value = GetField(packet.key, action.field) >> action.source_bit & bits;
  Set(packet, action.destination, value << action.destination_bit, bits << action.destination_bit);
}

// A copy has its whole headroom again.
template <typename Push>
void Executor::PushWith(PacketInHand& packet, Push push) {
  Frame frame = FrameOf(packet.mbuf);
  packet.rewritten = true;
  if (!push(frame)) {
    rte_mbuf* roomy = CopyBuffer(packet.mbuf, pool_);
    if (roomy == nullptr) return packet.Lose(DropReason::kNoBuffers);
    FreeBuffer(packet.mbuf);
    packet.mbuf = roomy;
    frame = FrameOf(roomy);
    push(frame);
  }
  PutFrame(packet.mbuf, frame);
}

void Executor::Output(PacketInHand& packet, const Action& action, bool last) {
  switch (action.type) {
    case ActionType::kOutputAll:
    case ActionType::kOutputFlood:
      return OutputAll(packet, last);
    case ActionType::kOutputInPort:
      return Send(packet, packet.ingress, last);
    case ActionType::kOutputField:
      return OutputField(packet, action, last);
    default:
      return OutputTo(packet, action.port, last);
  }
}

void Executor::OutputField(PacketInHand& packet, const Action& action, bool last) {
  Refresh(packet);
  // OpenFlow 1.0's numbers, which registers of any width hold for Open vSwitch.
  constexpr uint32_t kInPort = 0xfff8, kFlood = 0xfffb, kAll = 0xfffc;
  const absl::uint128 number = GetField(packet.key, action.field) >> action.source_bit & LowBits(action.bits);
  if (number == kInPort) return Send(packet, packet.ingress, last);
  if (number == kFlood || number == kAll) return OutputAll(packet, last);
  OutputTo(packet, number > kMaxPortNumber ? 0 : static_cast<uint32_t>(number), last);
}

void Executor::OutputTo(PacketInHand& packet, uint32_t number, bool last) {
  const uint8_t port = packet.snapshot.IndexOf(number);
  if (port == Snapshot::kNoPort) return packet.NotSent(DropReason::kNoSuchPort);
  if (port == packet.ingress) return packet.NotSent(DropReason::kOutputToIngress);
  Send(packet, port, last);
}

void Executor::OutputAll(PacketInHand& packet, bool last) {
  uint32_t rest = packet.snapshot.enabled & ~(1u << packet.ingress);
  if (rest == 0) return packet.NotSent(DropReason::kOutputToIngress);
  for (; rest != 0; rest &= rest - 1) {
    const bool last_copy = (rest & (rest - 1)) == 0;
    Send(packet, static_cast<uint8_t>(std::countr_zero(rest)), last && last_copy);
  }
}

void Executor::Send(PacketInHand& packet, uint8_t port, bool last) {
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
