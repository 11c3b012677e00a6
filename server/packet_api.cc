#include "server/packet_api.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/proto_time.h"

namespace sluice {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(1);
constexpr unsigned kPacketsARound = 4096;  // of each worker

constexpr size_t kShortestFrame = 14;
constexpr size_t kLongestFrame = 65'535;

// What is asked for, but no more than the limit; 0 asks for that.
uint32_t Within(uint32_t asked, uint32_t limit) { return asked == 0 ? limit : std::min(asked, limit); }

bool ChangesLength(const Action& action) {
  return action.type >= ActionType::kPushVlan && action.type <= ActionType::kPopMpls;
}

bool IsTagged(const std::string& frame) {
  const auto type = static_cast<uint16_t>(static_cast<uint8_t>(frame[12]) << 8 | static_cast<uint8_t>(frame[13]));
  return type == 0x8100 || type == 0x88a8;
}

void CheckWatch(const v1::WatchPacketsRequest& request, ViolationList& violations) {
  for (int i = 0; i < request.reasons_size(); ++i) {
    PuntReason ignored{};
    PacketReasonFromProto(request.reasons(i), Path("reasons", i), violations, ignored);
  }
  for (int i = 0; i < request.table_ids_size(); ++i) {
    if (request.table_ids(i) <= kMaxTableId) continue;
    violations.Add(Path("table_ids", i),
                   absl::StrCat("there is no table ", request.table_ids(i), ": 0 to ", kMaxTableId));
  }
  for (int i = 0; i < request.in_ports_size(); ++i) {
    if (request.in_ports(i) <= kMaxPortNumber) continue;
    violations.Add(Path("in_ports", i),
                   absl::StrCat(request.in_ports(i), " is no port's number: 1 to ", kMaxPortNumber, ", or 0 for none"));
  }
}

}  // namespace

PacketApi::PacketApi(Dataplane& dataplane, FlowTable& flows, const ApiLimits& limits)
    : dataplane_(dataplane),
      flows_(flows),
      limits_(limits),
      send_rate_(limits.packet_outs_per_second, absl::Now()),
      thread_([this] { Run(); }) {}

PacketApi::~PacketApi() {
  Close();
  thread_.join();
}

absl::StatusOr<std::shared_ptr<PacketClient>> PacketApi::Listen(v1::WatchPacketsRequest request,
                                                                std::function<void()> ready) {
  ViolationList violations;
  CheckWatch(request, violations);
  if (!violations.empty()) return violations.ToStatus();
  request.set_packets_per_second(Within(request.packets_per_second(), limits_.packet_ins_per_second));
  request.set_queue(Within(request.queue(), limits_.packet_in_queue));
  auto client = std::make_shared<PacketClient>(request, Lost(), absl::Now(), std::move(ready));
  const std::lock_guard lock(mutex_);
  if (closed_) return absl::UnavailableError("the switch is ending");
  if (clients_.size() >= limits_.packet_in_clients) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", clients_.size(),
                                                     " callers of WatchPackets already, the most that can be "
                                                     "(limits.packet_in_clients)"));
  }
  clients_.push_back(client);
  dataplane_.ListenForPackets(true);
  changed_.notify_one();
  return client;
}

void PacketApi::Leave(const std::shared_ptr<PacketClient>& client) {
  const std::lock_guard lock(mutex_);
  std::erase(clients_, client);
  if (clients_.empty()) dataplane_.ListenForPackets(false);
}

void PacketApi::Close() {
  std::vector<std::shared_ptr<PacketClient>> clients;
  std::map<const void*, std::function<void()>> senders;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    senders = std::exchange(senders_, {});
    clients = std::exchange(clients_, {});
    dataplane_.ListenForPackets(false);
    changed_.notify_one();
  }
  for (const auto& client : clients) client->Close();
  for (const auto& [sender, end] : senders) end();
}

void PacketApi::Run() {
  pthread_setname_np(pthread_self(), "packet-in");
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (clients_.empty()) {
      changed_.wait(lock);
      continue;
    }
    listeners_ = clients_;
    lock.unlock();
    const absl::Time now = absl::Now();
    const unsigned taken = dataplane_.TakePackets(
        kPacketsARound,
        [this, now](const PuntedPacket& packet, std::span<const uint8_t> bytes) { Deliver(packet, bytes, now); });
    if (taken != 0) {
      const uint64_t lost = Lost();
      for (const auto& client : listeners_) client->Notify(lost);
    }
    listeners_.clear();
    lock.lock();
    changed_.wait_for(lock, kPeriod, [this] { return closed_; });
  }
}

void PacketApi::Deliver(const PuntedPacket& packet, std::span<const uint8_t> bytes, absl::Time now) {
  v1::Packet message;
  std::optional<uint64_t> known;
  const auto cookie = [&] { return known.has_value() ? *known : known.emplace(CookieOf(packet)); };
  for (const auto& client : listeners_) {
    if (!client->Wants(packet) || (client->asks_for_cookie() && !client->WantsCookie(cookie()))) continue;
    const PacketClient::Admission admission = client->Admit(now);
    if (admission == PacketClient::Admission::kRateReached) {
      dropped_rate_.fetch_add(1, std::memory_order_relaxed);
    } else if (admission == PacketClient::Admission::kQueueFull) {
      dropped_queue_.fetch_add(1, std::memory_order_relaxed);
    } else {
      // Once, and only if somebody gets it.
      if (message.length() == 0) Describe(packet, bytes, cookie(), message);
      client->Queue(message);
      delivered_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

// 0: no flow, or it is gone.
uint64_t PacketApi::CookieOf(const PuntedPacket& packet) const {
  if (packet.flow_id == 0) return 0;
  const absl::StatusOr<FlowInfo> flow = flows_.Get(packet.flow_id);
  return flow.ok() ? flow->spec.cookie : 0;
}

void PacketApi::Describe(const PuntedPacket& packet, std::span<const uint8_t> bytes, uint64_t cookie,
                         v1::Packet& out) const {
  out.set_data(bytes.data(), bytes.size());
  out.set_length(packet.length);
  out.set_in_port(packet.in_port);
  if (packet.in_port != 0) out.set_in_port_name(dataplane_.PortName(packet.in_port));
  out.set_reason(PacketReasonToProto(packet.reason));
  out.set_table_id(packet.table_id);
  out.set_flow_id(packet.flow_id);
  out.set_cookie(cookie);
  out.set_metadata(packet.metadata);
  if (std::ranges::any_of(packet.registers, [](uint32_t value) { return value != 0; })) {
    out.mutable_registers()->Assign(packet.registers.begin(), packet.registers.end());
  }
  TimeToProto(absl::FromUnixNanos(packet.time_unix_ns), out.mutable_time());
}

uint64_t PacketApi::Lost() const {
  uint64_t lost = 0;
  for (const WorkerInfo& worker : dataplane_.Workers()) lost += worker.punts_lost;
  return lost;
}

absl::Status PacketApi::OpenSender(const void* sender, std::function<void()> end) {
  const std::lock_guard lock(mutex_);
  if (closed_) return absl::UnavailableError("the switch is ending");
  senders_[sender] = std::move(end);
  return absl::OkStatus();
}

void PacketApi::CloseSender(const void* sender) {
  const std::lock_guard lock(mutex_);
  senders_.erase(sender);
}

bool PacketApi::TryAdmit(absl::Time now) {
  const std::lock_guard lock(mutex_);
  return TryAdmitLocked(now);
}

bool PacketApi::TryAdmitLocked(absl::Time now) {
  if (sending_ >= limits_.packet_out_queue || !send_rate_.Take(now)) return false;
  ++sending_;
  return true;
}

absl::Status PacketApi::Admit(absl::Time now) {
  const std::lock_guard lock(mutex_);
  if (TryAdmitLocked(now)) return absl::OkStatus();
  ++refused_;
  if (sending_ >= limits_.packet_out_queue) {
    return absl::ResourceExhaustedError(
        absl::StrCat(sending_, " packets wait to be sent, the most that may (limits.packet_out_queue)"));
  }
  return absl::ResourceExhaustedError(absl::StrCat("more than ", limits_.packet_outs_per_second,
                                                   " packets a second are sent (limits.packet_outs_per_second)"));
}

// What the port would drop is refused where that is certain before.
void PacketApi::CheckLengths(const v1::SendPacketRequest& request, const ActionList& actions,
                             ViolationList& violations) const {
  const size_t length = request.data().size();
  if (length < kShortestFrame || length > kLongestFrame) {
    violations.Add(Path("data"), absl::StrCat(length, " bytes are no frame: ", kShortestFrame, " to ", kLongestFrame));
    return;
  }
  const size_t header = kShortestFrame + (IsTagged(request.data()) ? 4 : 0);
  for (size_t i = 0; i < actions.size() && !ChangesLength(actions[i]); ++i) {
    if (actions[i].type != ActionType::kOutput || actions[i].deferred) continue;
    const absl::StatusOr<PortInfo> port = dataplane_.GetPort(actions[i].port);
    if (!port.ok() || length <= port->config.mtu + header) continue;
    violations.Add(Path("data"), absl::StrCat(length, " bytes are too long for port ", actions[i].port, ": at most ",
                                              port->config.mtu + header, " with its MTU of ", port->config.mtu));
  }
}

absl::Status PacketApi::SendPacket(const v1::SendPacketRequest& request, v1::SendPacketResponse* response) {
  ViolationList violations;
  PacketToSend packet;
  KnownHeaders anything;
  anything.anything = true;
  ActionsFromProto(request.actions(), anything, kAnyTable, limits_.actions_per_flow, nullptr, violations,
                   packet.actions);
  if (request.in_port() > kMaxPortNumber) {
    violations.Add(Path("in_port"),
                   absl::StrCat(request.in_port(), " is no port's number: 1 to ", kMaxPortNumber, ", or 0 for none"));
  }
  if (request.through_tables() && !packet.actions.empty() && packet.actions.back().type == ActionType::kGotoTable) {
    violations.Add(Path("through_tables"), "the actions go to a table already");
  }
  CheckLengths(request, packet.actions, violations);
  absl::Status status = violations.ToStatus();
  if (status.ok()) {
    packet.bytes = request.data();
    packet.in_port = request.in_port();
    if (request.through_tables()) packet.actions.push_back({.type = ActionType::kGotoTable, .port = 0});
    const absl::StatusOr<Dataplane::Sent> sent = dataplane_.SendPacket(packet);
    status = sent.status();
    if (sent.ok()) response->set_forwarded(sent->forwarded);
    if (sent.ok() && !sent->forwarded) response->set_drop_reason(DropReasonName(sent->cause));
  }
  const std::lock_guard lock(mutex_);
  --sending_;
  return status;
}

PacketApi::Counters PacketApi::counters() const {
  const std::lock_guard lock(mutex_);
  return {.clients = clients_.size(),
          .delivered = delivered_.load(std::memory_order_relaxed),
          .dropped_rate = dropped_rate_.load(std::memory_order_relaxed),
          .dropped_queue = dropped_queue_.load(std::memory_order_relaxed),
          .refused = refused_};
}

}  // namespace sluice
