// The engine's part of packet-in and packet-out.

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "dataplane/port/buffers.h"
#include "dataplane/worker/engine.h"

namespace sluice {
namespace {

// A worker that is not asleep takes some microseconds.
constexpr auto kLookAgain = std::chrono::microseconds(20);

}  // namespace

void Engine::ListenForPackets(bool listen) {
  for (const auto& worker : workers_) worker->punts().Listen(listen);
}

unsigned Engine::TakePackets(unsigned most, const Dataplane::PacketVisitor& visit) {
  unsigned taken = 0;
  for (const auto& worker : workers_) taken += worker->punts().Drain(most, visit);
  return taken;
}

// By the first worker, so that their order is kept.
absl::StatusOr<Dataplane::Sent> Engine::SendPacket(const PacketToSend& packet) {
  if (packet.in_port != 0) {
    const std::lock_guard lock(mutex_);
    if (Find(packet.in_port) == nullptr) return absl::NotFoundError(absl::StrCat("there is no port ", packet.in_port));
  }
  Injection injection;
  injection.in_port = packet.in_port;
  injection.actions = packet.actions;
  injection.mbuf = NewBufferWith({reinterpret_cast<const uint8_t*>(packet.bytes.data()), packet.bytes.size()}, pool_);
  if (injection.mbuf == nullptr) return absl::ResourceExhaustedError("there are no packet buffers left; try again");
  PartWith(&injection.mbuf, 1);
  workers_.front()->Inject(injection);
  while (!injection.done.load(std::memory_order_acquire)) std::this_thread::sleep_for(kLookAgain);
  return Dataplane::Sent{injection.forwarded, injection.cause};
}

}  // namespace sluice
