#include "dataplane/worker/capture_tap.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/packet/parse.h"
#include "dataplane/worker/capture_plan.h"

namespace sluice {
namespace {

// As much as headers may take up that a filter is to see.
constexpr uint32_t kHeaderBytes = 2048;

bool Concerns(const CaptureSpec& spec, const CapturedPacket& packet) {
  if (packet.point == CapturePoint::kMatched) return spec.flow_id != 0 && spec.flow_id == packet.flow_id;
  if (spec.flow_id != 0 || (spec.port != 0 && spec.port != packet.port)) return false;
  if (packet.point == CapturePoint::kReceived) return spec.received;
  return packet.point == CapturePoint::kSent ? spec.sent : spec.dropped;
}

}  // namespace

CapturedPacket CaptureTap::Now(CapturePoint point, uint32_t port) {
  return {.time_unix_ns = clock_.UnixNanoseconds(WorkerClock::Cycles()), .port = port, .point = point};
}

void CaptureTap::Receive(uint32_t port, rte_mbuf* const* mbufs, unsigned n) {
  in_port_ = port;
  Sight sight{.record = Now(CapturePoint::kReceived, port), .in_port = port};
  for (unsigned i = 0; i < n; ++i) Note(sight, mbufs[i], i);
  Commit(n);
}

void CaptureTap::Match(const ClassifierEntry& entry, const rte_mbuf* mbuf, const PacketKey& key) {
  const uint64_t flow_id = entry.flow()->id;
  const auto wanted = [flow_id](const auto& capture) { return capture->spec().flow_id == flow_id; };
  if (std::ranges::none_of(plan_->captures, wanted)) return;
  Sight sight{.record = Now(CapturePoint::kMatched, in_port_), .in_port = in_port_, .key = &key};
  sight.record.flow_id = flow_id;
  Note(sight, mbuf, 0);
  Commit(1);
}

void CaptureTap::Drop(const rte_mbuf* mbuf, DropReason reason) {
  Sight sight{.record = Now(CapturePoint::kDropped, in_port_), .in_port = in_port_};
  sight.record.drop_reason = reason;
  Note(sight, mbuf, 0);
  Commit(1);
}

void CaptureTap::Lose(uint32_t port, const rte_mbuf* const* mbufs, unsigned n, PortLoss loss) {
  Sight sight{.record = Now(CapturePoint::kLost, port)};
  sight.record.loss = loss;
  for (unsigned i = 0; i < n; ++i) Note(sight, mbufs[i], i);
  Commit(n);
}

void CaptureTap::Send(uint32_t port, rte_mbuf* const* mbufs, unsigned n) {
  Sight sight{.record = Now(CapturePoint::kSent, port)};
  for (unsigned i = 0; i < n; ++i) Note(sight, mbufs[i], i);
}

void CaptureTap::Note(Sight& sight, const rte_mbuf* mbuf, unsigned i) {
  ByteRing& ring = *(*plan_->rings)[worker_];
  if (i == 0) begin_ = ring.reserved();
  missed_[i] = 0;
  bool parsed = false, readable = false;
  for (unsigned at = 0; at < plan_->captures.size(); ++at) {
    const Capture& capture = *plan_->captures[at];
    if (!Concerns(capture.spec(), sight.record)) continue;
    if (capture.spec().filter.has_value()) {
      if (!parsed) readable = Parse(sight, mbuf);
      parsed = true;
      if (!readable || !Matches(*capture.spec().filter, key_)) continue;
    }
    if (!Put(capture, sight, mbuf)) missed_[i] |= uint64_t{1} << at;
  }
  ends_[i] = ring.reserved();
}

void CaptureTap::Commit(unsigned n) {
  ByteRing& ring = *(*plan_->rings)[worker_];
  ring.TakeBackTo(n == 0 ? begin_ : ends_[n - 1]);
  ring.Commit();
  for (unsigned i = 0; i < n; ++i) {
    for (uint64_t rest = missed_[i]; rest != 0; rest &= rest - 1) {
      plan_->captures[static_cast<size_t>(std::countr_zero(rest))]->CountMissed(worker_);
    }
  }
}

bool CaptureTap::Parse(const Sight& sight, const rte_mbuf* mbuf) {
  std::array<uint8_t, kHeaderBytes> copy;
  const uint32_t length = std::min(mbuf->pkt_len, kHeaderBytes);
  const void* bytes = rte_pktmbuf_read(mbuf, 0, length, copy.data());
  const Frame frame{.data = const_cast<uint8_t*>(static_cast<const uint8_t*>(bytes)),
                    .length = length,
                    .total = mbuf->pkt_len,
                    .headroom = 0};
  HeaderLayout layout;
  ClearPipelineFields(key_);
  if (sluice::Parse(frame, sight.in_port, key_, layout) == ParseResult::kTooShort) return false;
  if (sight.key == nullptr) return true;
  for (size_t word = kFirstPipelineWord; word < kKeyWords; ++word) SetWord(key_, word, WordOf(*sight.key, word));
  return true;
}

bool CaptureTap::Put(const Capture& capture, Sight& sight, const rte_mbuf* mbuf) {
  CapturedPacket& record = sight.record;
  const uint32_t snap = capture.spec().snap_length;
  record.capture_id = capture.id();
  record.length = mbuf->pkt_len;
  record.kept = snap == 0 ? record.length : std::min(record.length, snap);
  std::byte* at = (*plan_->rings)[worker_]->Reserve(sizeof record + record.kept);
  if (at == nullptr) return false;
  std::memcpy(at, &record, sizeof record);
  std::byte* const to = at + sizeof record;
  const void* from = rte_pktmbuf_read(mbuf, 0, record.kept, to);
  if (from != to) std::memcpy(to, from, record.kept);
  return true;
}

}  // namespace sluice
