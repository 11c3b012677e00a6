// The engine's part of captures.

#include <algorithm>
#include <cstring>
#include <latch>

#include "absl/strings/str_cat.h"
#include "dataplane/worker/engine.h"

namespace sluice {
namespace {

std::shared_ptr<CaptureRings> NewRings(size_t workers) {
  auto rings = std::make_shared<CaptureRings>();
  for (size_t i = 0; i < workers; ++i) rings->push_back(std::make_unique<ByteRing>(kCaptureRingBytes));
  return rings;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Capture>> Engine::StartCapture(const CaptureSpec& spec) {
  std::shared_ptr<Capture> capture;
  const auto seen = std::make_shared<std::latch>(1);
  {
    const std::lock_guard lock(mutex_);
    if (spec.port != 0 && Find(spec.port) == nullptr) {
      return absl::NotFoundError(absl::StrCat("there is no port ", spec.port));
    }
    if (captures_started_ >= Dataplane::kMaxCaptures) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", captures_started_, " captures already, the most that can be"));
    }
    capture = std::make_shared<Capture>(++last_capture_id_, spec, WorkerCount());
    if (capture_rings_ == nullptr) capture_rings_ = NewRings(WorkerCount());
    ++captures_started_;
    captures_.push_back(capture);
    Publish();
    reclaimer_.AfterGrace([seen] { seen->count_down(); });
  }
  seen->wait();
  return capture;
}

// Null if workers do not see it any more.
std::shared_ptr<Capture> Engine::Unpublish(const Capture& capture) {
  const auto at = std::ranges::find(captures_, &capture, [](const auto& each) { return each.get(); });
  if (at == captures_.end()) return nullptr;
  std::shared_ptr<Capture> found = std::move(*at);
  captures_.erase(at);
  Publish();
  return found;
}

void Engine::EndCapture(const Capture& capture) {
  const std::lock_guard lock(mutex_);
  if (std::shared_ptr<Capture> found = Unpublish(capture)) {
    reclaimer_.AfterGrace([found = std::move(found)] { found->SetOver(); });
  }
}

void Engine::StopCapture(const Capture& capture) {
  const std::lock_guard lock(mutex_);
  Unpublish(capture);
  if (--captures_started_ == 0) capture_rings_ = nullptr;
}

std::vector<std::shared_ptr<Capture>> Engine::EndCapturesOf(uint32_t port) {
  const auto ended = std::stable_partition(captures_.begin(), captures_.end(),
                                           [port](const auto& each) { return each->spec().port != port; });
  std::vector<std::shared_ptr<Capture>> captures(ended, captures_.end());
  captures_.erase(ended, captures_.end());
  return captures;
}

unsigned Engine::TakeCaptured(const Dataplane::CaptureVisitor& visit) {
  std::shared_ptr<CaptureRings> rings;
  {
    const std::lock_guard lock(mutex_);
    rings = capture_rings_;
  }
  unsigned taken = 0;
  if (rings == nullptr) return taken;
  for (const auto& ring : *rings) {
    taken += ring->Drain(~0u, [&visit](const std::byte* at) {
      CapturedPacket packet;
      std::memcpy(&packet, at, sizeof packet);
      visit(packet, {reinterpret_cast<const uint8_t*>(at + sizeof packet), packet.kept});
    });
  }
  return taken;
}

const char* PortLossName(PortLoss loss) {
  switch (loss) {
    case PortLoss::kDown:
      return "down";
    case PortLoss::kMtu:
      return "mtu";
    case PortLoss::kTxFull:
      return "tx_full";
    case PortLoss::kNoBuffers:
      return "no_buffers";
  }
  return "unknown";
}

}  // namespace sluice
