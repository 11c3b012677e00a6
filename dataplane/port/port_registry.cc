#include "dataplane/port/port_registry.h"

#include <rte_mempool.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/port/port_check.h"
#include "dataplane/port/preflight.h"

namespace sluice {
namespace {

// The numbers in the names of devices that are named here start above those that
// people give theirs.
constexpr unsigned kFirstUnique = 1000;

absl::Status NoSuchPort(uint32_t number) { return absl::NotFoundError(absl::StrCat("there is no port ", number)); }

Engine::PortState StateOf(const PortConfig& config) {
  return {.enabled = config.enabled, .receive = config.receive, .mtu = config.mtu};
}

void AddDeviceStats(PortStats& stats, const EthdevPort::DeviceStats& device) {
  stats.receive_missed = device.missed;
  stats.receive_errors = device.errors;
  stats.receive_no_buffers = device.no_buffers;
}

}  // namespace

PortRegistry::PortRegistry(const Options& options, rte_mempool* pool, Engine& engine)
    : options_(options), pool_(pool), engine_(engine) {}

PortRegistry::~PortRegistry() {
  std::map<uint32_t, Entry> ports;
  {
    const std::lock_guard lock(mutex_);
    ports = std::exchange(ports_, {});
  }
  for (auto& [number, entry] : ports) engine_.Detach(number).IgnoreError();
}

absl::StatusOr<uint32_t> PortRegistry::ChooseNumber(const PortConfig& config) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, entry] : ports_) {
    if (entry.config.name == config.name) {
      return absl::AlreadyExistsError(absl::StrCat("a port named \"", config.name, "\" exists, number ", number));
    }
  }
  if (ports_.size() >= Dataplane::kMaxPorts) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", Dataplane::kMaxPorts, " ports already, the most that can be"));
  }
  if (config.number != 0) {
    const auto at = ports_.find(config.number);
    if (at == ports_.end()) return config.number;
    return absl::AlreadyExistsError(
        absl::StrCat("port number ", config.number, " is taken by \"", at->second.config.name, "\""));
  }
  uint32_t number = 1;
  while (ports_.contains(number)) ++number;
  return number;
}

unsigned PortRegistry::ChooseUnique() const {
  const std::lock_guard lock(mutex_);
  unsigned unique = kFirstUnique;
  while (std::ranges::any_of(ports_, [&](const auto& port) { return port.second.unique == unique; })) ++unique;
  return unique;
}

uint32_t PortRegistry::SpareBuffers() const {
  // What lies in the workers' caches is out of reach, and some must be left to
  // the packets themselves.
  const uint32_t kept = (options_.workers + 1) * (pool_->cache_size * 3 / 2 + kBatch);
  const uint32_t free = rte_mempool_avail_count(pool_);
  return free > kept ? free - kept : 0;
}

absl::StatusOr<std::unique_ptr<EthdevPort>> PortRegistry::Open(const PortConfig& config, unsigned unique) {
  const PreflightLimits limits{
      .buffer_bytes = options_.buffer_bytes, .spare_buffers = SpareBuffers(), .use_pci = options_.use_pci};
  if (absl::Status status = Preflight(config, limits); !status.ok()) return status;
  PortConfig resolved = config;
  if (resolved.rx_queues == 0) resolved.rx_queues = options_.workers;
  const absl::StatusOr<std::string> devargs = DevargsOf(resolved, unique);
  if (!devargs.ok()) return devargs.status();
  return EthdevPort::Open({.devargs = *devargs,
                           .mtu = config.mtu,
                           .rx_queues = config.rx_queues,
                           .workers = options_.workers,
                           .buffer_bytes = options_.buffer_bytes,
                           .pool = pool_});
}

absl::StatusOr<PortInfo> PortRegistry::Add(const PortConfig& config) {
  if (absl::Status status = CheckPortConfig(config); !status.ok()) return status;
  if (const auto devargs = DevargsOf(config, kFirstUnique); !devargs.ok()) return devargs.status();
  const std::lock_guard change(changes_);
  const absl::StatusOr<uint32_t> number = ChooseNumber(config);
  if (!number.ok()) return number.status();
  Entry entry{.config = config, .unique = ChooseUnique(), .device = nullptr};
  absl::StatusOr<std::unique_ptr<EthdevPort>> device = Open(config, entry.unique);
  if (!device.ok()) return device.status();
  entry.device = *std::move(device);
  entry.config.number = *number;
  entry.config.rx_queues = entry.device->traits().rx_queues;
  if (absl::Status status = engine_.Attach(*entry.device, *number, StateOf(config)); !status.ok()) return status;
  engine_.SetLink(*number, entry.device->ReadLink().up);
  const std::lock_guard lock(mutex_);
  return InfoOf(ports_.emplace(*number, std::move(entry)).first->second);
}

absl::StatusOr<PortInfo> PortRegistry::Remove(uint32_t number) {
  const std::lock_guard change(changes_);
  Entry entry;
  PortInfo info;
  {
    const std::lock_guard lock(mutex_);
    const auto at = ports_.find(number);
    if (at == ports_.end()) return NoSuchPort(number);
    info = InfoOf(at->second);
    entry = std::move(at->second);
    ports_.erase(at);
  }
  const absl::StatusOr<PortStats> counted = engine_.Detach(number);
  if (!counted.ok()) return counted.status();
  info.stats = *counted;
  AddDeviceStats(info.stats, entry.device->ReadStats());
  return info;
}

absl::StatusOr<PortInfo> PortRegistry::Update(uint32_t number, const Dataplane::PortChange& change) {
  if (change.mtu) {
    if (absl::Status status = CheckMtu(*change.mtu); !status.ok()) return status;
  }
  const std::lock_guard changes(changes_);
  const std::lock_guard lock(mutex_);
  const auto at = ports_.find(number);
  if (at == ports_.end()) return NoSuchPort(number);
  Entry& entry = at->second;
  if (change.mtu && *change.mtu != entry.config.mtu) {
    if (absl::Status status = entry.device->SetMtu(*change.mtu); !status.ok()) return status;
  }
  entry.config.enabled = change.enabled.value_or(entry.config.enabled);
  entry.config.receive = change.receive.value_or(entry.config.receive);
  entry.config.mtu = change.mtu.value_or(entry.config.mtu);
  if (absl::Status status = engine_.SetState(number, StateOf(entry.config)); !status.ok()) return status;
  return InfoOf(entry);
}

PortInfo PortRegistry::InfoOf(const Entry& entry) const {
  const EthdevPort& device = *entry.device;
  const EthdevPort::Link link = device.ReadLink();
  PortInfo info{.config = entry.config,
                .link_up = link.up,
                .link_speed_mbps = link.speed_mbps,
                .mac_address = device.device().mac_address,
                .driver = device.device().driver,
                .numa_node = device.device().numa_node,
                .stats = engine_.StatsOf(entry.config.number).value_or(PortStats{})};
  AddDeviceStats(info.stats, device.ReadStats());
  return info;
}

absl::StatusOr<PortInfo> PortRegistry::Get(uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto at = ports_.find(number);
  if (at == ports_.end()) return NoSuchPort(number);
  return InfoOf(at->second);
}

absl::StatusOr<uint32_t> PortRegistry::NumberOf(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, entry] : ports_) {
    if (entry.config.name == name) return number;
  }
  return absl::NotFoundError(absl::StrCat("there is no port named \"", name, "\""));
}

void PortRegistry::CheckLinks() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (const auto& [number, entry] : ports_) engine_.SetLink(number, entry.device->ReadLink().up);
}

std::string PortRegistry::NameOf(uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto at = ports_.find(number);
  return at == ports_.end() ? "" : at->second.config.name;
}

std::vector<PortInfo> PortRegistry::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<PortInfo> infos;
  for (const auto& [number, entry] : ports_) infos.push_back(InfoOf(entry));
  return infos;
}

}  // namespace sluice
