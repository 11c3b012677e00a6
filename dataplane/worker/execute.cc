#include "dataplane/worker/execute.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/packet/field.h"
#include "dataplane/port/buffers.h"
#include "dataplane/worker/normal.h"
#include "dataplane/worker/prepare.h"

namespace sluice {
namespace {

// False: nobody sees what the action does, but by an action behind it.
bool HasEffect(const Action& action) { return IsOutput(action) || action.type >= ActionType::kGroup; }

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
  const size_t n = Needed(list);
  for (size_t at = 0; at < n && !packet.ended; ++at) {
    if (const uint8_t next = Step(packet, list[at], at + 1 == n && set_.empty())) return next;
  }
  return 0;
}

// With something in the action set, from before or by this list, all: the set
// sends the packet as it is then.
size_t Executor::Needed(std::span<const Action> list) const {
  size_t n = list.size();
  if (!set_.empty() || std::ranges::any_of(list, &Action::deferred)) return n;
  while (n != 0 && !HasEffect(list[n - 1])) --n;
  return n;
}

uint8_t Executor::Step(PacketInHand& packet, const Action& action, bool last) {
  if (action.deferred) {
    if (!set_.Add(action)) packet.Lose(DropReason::kActionSetFull);
  } else if (action.type == ActionType::kClearActions) {
    set_.Clear();
  } else if (action.type == ActionType::kGotoTable) {
    return static_cast<uint8_t>(action.port);
  } else {
    Do(packet, action, last);
  }
  return 0;
}

std::span<const Action* const> Executor::TakeSet(PacketInHand& packet) {
  if (packet.lost) return {};
  packet.ended = false;
  packet.punt_reason = PuntReason::kActionSet;
  return set_.InOrder();
}

void Executor::CarrySet(PacketInHand& packet) {
  const std::span<const Action* const> actions = TakeSet(packet);
  for (size_t at = 0; at < actions.size() && !packet.ended; ++at) Do(packet, *actions[at], at + 1 == actions.size());
}

void Executor::Refresh(PacketInHand& packet) {
  if (!packet.rewritten) return;
  packet.rewritten = false;
  ParseAgain(packet.mbuf, packet.snapshot.ports[packet.ingress].number, packet.key, packet.layout);
}

void Executor::Do(PacketInHand& packet, const Action& action, bool last) {
  if (IsOutput(action)) {
    Output(packet, action, last);
  } else if (action.type == ActionType::kGroup) {
    RunGroup(packet, action.port, last);
  } else if (action.type == ActionType::kMeter) {
    Police(packet, action.port);
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
    case ActionType::kController:
      return Punt(packet, action.reason == PuntReason::kAction ? packet.punt_reason : action.reason, action.port);
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
    case ActionType::kOutputNormal:
      return OutputNormal(packet, last);
    case ActionType::kOutputInPort:
      return OutputInPort(packet, last);
    case ActionType::kOutputField:
      return OutputField(packet, action, last);
    default:
      return OutputTo(packet, action.port, last);
  }
}

void Executor::OutputInPort(PacketInHand& packet, bool last) {
  if (packet.ingress == Snapshot::kNoIngress) return packet.NotSent(DropReason::kNoSuchPort);
  Send(packet, packet.ingress, last);
}

void Executor::OutputField(PacketInHand& packet, const Action& action, bool last) {
  Refresh(packet);
  // OpenFlow 1.0's numbers, which registers of any width hold for Open vSwitch.
  constexpr uint32_t kInPort = 0xfff8, kFlood = 0xfffb, kAll = 0xfffc;
  const absl::uint128 number = GetField(packet.key, action.field) >> action.source_bit & LowBits(action.bits);
  if (number == kInPort) return OutputInPort(packet, last);
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
  uint32_t rest = packet.snapshot.enabled & static_cast<uint32_t>(~(uint64_t{1} << packet.ingress));
  if (rest == 0) return packet.NotSent(DropReason::kOutputToIngress);
  for (; rest != 0; rest &= rest - 1) {
    const bool last_copy = (rest & (rest - 1)) == 0;
    Send(packet, static_cast<uint8_t>(std::countr_zero(rest)), last && last_copy);
  }
}

uint8_t Executor::Miss(PacketInHand& packet, MissPolicy policy) {
  if (policy == MissPolicy::kController) {
    Punt(packet, PuntReason::kNoMatch, 0);
    return 0;
  }
  const uint8_t next = TableAfterMiss(policy, packet.table_id);
  if (next == 0) packet.NotSent(DropReason::kNoFlow);
  return next;
}

void Executor::Punt(PacketInHand& packet, PuntReason reason, uint32_t max_len) {
  if (rehearses_) {
    if (!punts_.listening()) return packet.NotSent(DropReason::kNoController);
    counters_.punted.Add(1);
    packet.forwarded = true;
    return;
  }
  const uint32_t length = packet.mbuf->pkt_len;
  PuntedPacket punted{.time_unix_ns = clock_.UnixNanoseconds(WorkerClock::Cycles()),
                      .flow_id = packet.entry != nullptr ? packet.entry->flow()->id : 0,
                      .metadata = absl::Uint128Low64(GetField(packet.key, Field::kMetadata)),
                      .in_port = packet.snapshot.ports[packet.ingress].number,
                      .length = length,
                      .kept = max_len == 0 ? length : std::min(length, max_len),
                      .table_id = packet.table_id,
                      .reason = reason};
  for (unsigned i = 0; i < punted.registers.size(); ++i) {
    const auto field = static_cast<Field>(static_cast<unsigned>(Field::kReg0) + i);
    punted.registers[i] = static_cast<uint32_t>(absl::Uint128Low64(GetField(packet.key, field)));
  }
  const PuntResult result = punts_.Put(punted, [&](uint8_t* bytes) {
    const void* at = rte_pktmbuf_read(packet.mbuf, 0, punted.kept, bytes);
    if (at != bytes) std::memcpy(bytes, at, punted.kept);
  });
  if (result == PuntResult::kNobodyListens) return packet.NotSent(DropReason::kNoController);
  if (result == PuntResult::kFull) {
    counters_.punts_lost.Add(1);
    return packet.NotSent(DropReason::kControllerQueue);
  }
  counters_.punted.Add(1);
  packet.forwarded = true;
}

void Executor::OutputNormal(PacketInHand& packet, bool last) {
  const uint32_t teacher = rehearses_ ? 0 : packet.snapshot.ports[packet.ingress].number;
  const NormalWay way = FindNormalWay(FrameOf(packet.mbuf), packet.layout, teacher, packet.snapshot, tables_.macs,
                                      clock_.Seconds(WorkerClock::Cycles()));
  if (way.kind == NormalWay::Kind::kReserved) return packet.NotSent(DropReason::kReservedAddress);
  if (way.kind == NormalWay::Kind::kFlood) return OutputAll(packet, last);
  if (way.port == packet.ingress) return packet.NotSent(DropReason::kOutputToIngress);
  Send(packet, way.port, last);
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
