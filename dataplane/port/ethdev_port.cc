#include "dataplane/port/ethdev_port.h"

#include <net/if.h>
#include <poll.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "dataplane/port/buffers.h"
#include "dataplane/port/dpdk_log.h"

namespace sluice {
namespace {

// What drivers need that rte_eth_dev_info does not tell.
struct DriverFacts {
  absl::string_view driver;
  bool equal_queues = false;    // as many receive as transmit queues
  bool every_queue = false;     // closes only the queues that were configured, and leaks the rest
  bool keeps_frames = false;    // frames may lie in it that closing does not free
  bool mtu_unlimited = false;   // reports a longest frame that it does not insist on
  bool takes_segments = false;  // sends chained buffers without saying so
  uint32_t max_chained = 0;     // but chained frames only up to this many bytes
  bool has_files = false;       // interrupts are files that can be read while frames wait, and written while it is up
  bool closes_by_name = false;  // closing acts on whatever interface has the name
  uint16_t rx_descriptors = 0;  // 0: kDescriptors
};
constexpr DriverFacts kDrivers[] = {
    // Its descriptors are buffers for the segments of one frame.
    {.driver = "net_tap", .equal_queues = true, .has_files = true, .closes_by_name = true, .rx_descriptors = 64},
    {.driver = "net_af_packet", .mtu_unlimited = true},
    {.driver = "net_memif", .mtu_unlimited = true, .takes_segments = true},
    {.driver = "net_pcap", .takes_segments = true, .max_chained = 16128},
    {.driver = "net_null", .takes_segments = true},
    {.driver = "net_ring", .equal_queues = true, .every_queue = true, .keeps_frames = true},
};

constexpr uint16_t kDescriptors = 512;

const DriverFacts& FactsOf(absl::string_view driver) {
  static constexpr DriverFacts kNone{};
  const auto* facts = std::ranges::find(kDrivers, driver, &DriverFacts::driver);
  return facts == std::end(kDrivers) ? kNone : *facts;
}

struct Plan {
  uint16_t rx_queues = 1;  // to use
  uint16_t tx_queues = 1;
  uint16_t rx_configured = 1;
  uint16_t tx_configured = 1;
  uint16_t rx_descriptors = kDescriptors;
  uint16_t tx_descriptors = kDescriptors;
  bool takes_segments = false;
  uint32_t max_frame = UINT32_MAX;
  rte_eth_conf conf{};
};

uint32_t MaxMtu(const rte_eth_dev_info& info) {
  const bool says_both = info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu;
  const uint32_t overhead = says_both ? info.max_rx_pktlen - info.max_mtu : RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  return std::min<uint32_t>(info.max_mtu, info.max_rx_pktlen - overhead);
}

absl::Status CheckLimits(const EthdevPort::Options& options, const rte_eth_dev_info& info, const DriverFacts& facts) {
  if (options.rx_queues > info.max_rx_queues) {
    return absl::InvalidArgumentError(absl::StrCat(info.driver_name, " has at most ", info.max_rx_queues,
                                                   " receive queues for this port; ", options.rx_queues,
                                                   " are asked for"));
  }
  if (!facts.mtu_unlimited && (options.mtu > MaxMtu(info) || options.mtu < info.min_mtu)) {
    return absl::InvalidArgumentError(
        absl::StrCat(info.driver_name, " takes an MTU of ", info.min_mtu, " to ", MaxMtu(info), ", not ", options.mtu));
  }
  return absl::OkStatus();
}

void PlanQueues(const EthdevPort::Options& options, const rte_eth_dev_info& info, const DriverFacts& facts,
                Plan& plan) {
  const uint32_t wanted = options.rx_queues != 0 ? options.rx_queues : options.workers;
  plan.rx_queues = static_cast<uint16_t>(std::clamp<uint32_t>(wanted, 1, std::max<uint16_t>(info.max_rx_queues, 1)));
  plan.tx_queues =
      static_cast<uint16_t>(std::clamp<uint32_t>(options.workers, 1, std::max<uint16_t>(info.max_tx_queues, 1)));
  // Such devices send into their own receive queues or spread over all of them:
  // none may be there that nobody polls.
  if (facts.equal_queues) plan.tx_queues = std::min(plan.rx_queues, plan.tx_queues);
  plan.rx_configured = facts.every_queue ? info.max_rx_queues : plan.rx_queues;
  plan.tx_configured = facts.every_queue ? info.max_tx_queues : (facts.equal_queues ? plan.rx_queues : plan.tx_queues);
}

void PlanFrames(const EthdevPort::Options& options, const rte_eth_dev_info& info, const DriverFacts& facts,
                Plan& plan) {
  plan.conf.rxmode.mtu = std::min(options.mtu, MaxMtu(info));
  plan.conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
  plan.conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  plan.takes_segments = facts.takes_segments || plan.conf.txmode.offloads != 0;
  if (facts.max_chained != 0) {
    // A frame in one buffer goes through at any length; longer chains would be cut short.
    plan.takes_segments = options.buffer_bytes < facts.max_chained;
    plan.max_frame = std::max(facts.max_chained, options.buffer_bytes);
  } else if (!plan.takes_segments) {
    plan.max_frame = options.buffer_bytes;
  }
}

Plan PlanDevice(const EthdevPort::Options& options, const rte_eth_dev_info& info, const DriverFacts& facts) {
  Plan plan;
  PlanQueues(options, info, facts, plan);
  PlanFrames(options, info, facts, plan);
  if (plan.rx_queues > 1 && info.flow_type_rss_offloads != 0) {
    plan.conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    plan.conf.rx_adv_conf.rss_conf.rss_hf =
        info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP);
  }
  if (facts.rx_descriptors != 0) plan.rx_descriptors = facts.rx_descriptors;
  plan.conf.intr_conf.rxq = facts.has_files;
  return plan;
}

// A device between its creation and its start: removed again unless released.
class Probed {
 public:
  explicit Probed(uint16_t id) : id_(id) {}
  ~Probed() {
    if (id_ != RTE_MAX_ETHPORTS) Remove(id_);
  }
  Probed(const Probed&) = delete;
  Probed& operator=(const Probed&) = delete;

  uint16_t id() const { return id_; }
  void Release() { id_ = RTE_MAX_ETHPORTS; }

  static void Remove(uint16_t id) {
    rte_eth_dev_info info{};
    rte_device* device = rte_eth_dev_info_get(id, &info) == 0 ? info.device : nullptr;
    rte_eth_dev_stop(id);
    rte_eth_dev_close(id);
    if (device != nullptr) rte_dev_remove(device);
  }

 private:
  uint16_t id_;
};

std::optional<uint16_t> FindDevice(absl::string_view name) {
  for (uint16_t id = 0; id < RTE_MAX_ETHPORTS; ++id) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_is_valid_port(id) == 0 || rte_eth_dev_info_get(id, &info) != 0) continue;
    if (name == rte_dev_name(info.device)) return id;
  }
  return std::nullopt;
}

// A step of the set-up: OK, or the driver's reason.
template <typename Call>
absl::Status Step(absl::string_view what, Call call) {
  const DpdkLogCapture log;
  const int result = call();
  if (result >= 0) return absl::OkStatus();
  // EAL's answer to devargs that no bus knows is EFAULT.
  const bool refused = result == -EINVAL || result == -EFAULT;
  return log.Failure(what, result,
                     refused ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kFailedPrecondition);
}

absl::Status SetUpQueues(uint16_t id, rte_mempool* pool, const rte_eth_dev_info& info, Plan& plan) {
  const int socket = rte_eth_dev_socket_id(id);
  const auto socket_id = socket < 0 ? SOCKET_ID_ANY : static_cast<unsigned>(socket);
  int result = rte_eth_dev_adjust_nb_rx_tx_desc(id, &plan.rx_descriptors, &plan.tx_descriptors);
  rte_eth_rxconf rx = info.default_rxconf;
  rte_eth_txconf tx = info.default_txconf;
  rx.offloads = plan.conf.rxmode.offloads;
  tx.offloads = plan.conf.txmode.offloads;
  return Step(info.driver_name, [&] {
    for (uint16_t q = 0; q < plan.rx_configured && result >= 0; ++q) {
      result = rte_eth_rx_queue_setup(id, q, plan.rx_descriptors, socket_id, &rx, pool);
    }
    for (uint16_t q = 0; q < plan.tx_configured && result >= 0; ++q) {
      result = rte_eth_tx_queue_setup(id, q, plan.tx_descriptors, socket_id, &tx);
    }
    return result;
  });
}

absl::Status SetUpDevice(uint16_t id, rte_mempool* pool, const rte_eth_dev_info& info, Plan& plan) {
  absl::Status configured = Step(
      info.driver_name, [&] { return rte_eth_dev_configure(id, plan.rx_configured, plan.tx_configured, &plan.conf); });
  if (!configured.ok()) return configured;
  if (absl::Status status = SetUpQueues(id, pool, info, plan); !status.ok()) return status;
  absl::Status started = Step(info.driver_name, [&] { return rte_eth_dev_start(id); });
  if (!started.ok()) return started;
  // Not every device can, or needs to.
  const DpdkLogCapture quiet;
  rte_eth_promiscuous_enable(id);
  rte_eth_allmulticast_enable(id);
  return absl::OkStatus();
}

// Makes the device and this process's ports its owner.
absl::StatusOr<uint16_t> Acquire(const std::string& devargs) {
  static const uint64_t owner_id = [] {
    uint64_t fresh = 0;
    rte_eth_dev_owner_new(&fresh);
    return fresh;
  }();
  const std::string name = devargs.substr(0, devargs.find(','));
  std::optional<uint16_t> id = FindDevice(name);
  rte_eth_dev_owner owner{};
  if (id && rte_eth_dev_owner_get(*id, &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER) {
    return absl::AlreadyExistsError(absl::StrCat("the device ", name, " is in use by another port"));
  }
  if (!id) {
    const std::string driver = name.substr(0, name.find_first_of("0123456789"));
    const absl::Status probed = Step(driver.empty() ? name : driver, [&] { return rte_dev_probe(devargs.c_str()); });
    if (!probed.ok()) return probed;
    id = FindDevice(name);
    if (!id) {
      rte_eal_hotplug_remove("vdev", name.c_str());
      return absl::FailedPreconditionError(absl::StrCat(name, " is no Ethernet device"));
    }
  }
  owner = {.id = owner_id, .name = "sluice"};
  const absl::Status owned = Step(name, [&] { return rte_eth_dev_owner_set(*id, &owner); });
  if (!owned.ok()) return owned;
  return *id;
}

std::atomic<bool> any_abandoned{false};

EthdevPort::Interface InterfaceOf(unsigned index) {
  std::array<char, IF_NAMESIZE> name{};
  if (index == 0 || if_indextoname(index, name.data()) == nullptr) return {};
  return {.index = index, .name = name.data()};
}

std::string MacOf(uint16_t id) {
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(id, &mac) != 0) return "";
  std::array<char, RTE_ETHER_ADDR_FMT_SIZE> text{};
  rte_ether_format_addr(text.data(), text.size(), &mac);
  std::string result = text.data();
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EthdevPort>> EthdevPort::Open(const Options& options) {
  const absl::StatusOr<uint16_t> id = Acquire(options.devargs);
  if (!id.ok()) return id.status();
  Probed device(*id);
  rte_eth_dev_info info{};
  if (absl::Status status = Step(options.devargs, [&] { return rte_eth_dev_info_get(*id, &info); }); !status.ok())
    return status;
  const DriverFacts& facts = FactsOf(info.driver_name);
  if (absl::Status status = CheckLimits(options, info, facts); !status.ok()) return status;
  Plan plan = PlanDevice(options, info, facts);
  if (absl::Status status = SetUpDevice(*id, options.pool, info, plan); !status.ok()) return status;
  const Traits traits{.rx_queues = plan.rx_queues,
                      .tx_queues = plan.tx_queues,
                      .takes_segments = plan.takes_segments,
                      .max_frame = plan.max_frame};
  std::unique_ptr<EthdevPort> port(new EthdevPort(
      *id, traits, {.driver = info.driver_name, .mac_address = MacOf(*id), .numa_node = rte_eth_dev_socket_id(*id)},
      InterfaceOf(info.if_index)));
  device.Release();
  return port;
}

EthdevPort::EthdevPort(uint16_t id, const Traits& traits, Device device, Interface interface)
    : Port(traits), id_(id), device_(std::move(device)), interface_(std::move(interface)) {}

bool EthdevPort::AnyAbandoned() { return any_abandoned; }

// net_tap takes its interface down by its name, whoever has the name by then.
bool EthdevPort::NameIsTaken() const {
  if (!FactsOf(device_.driver).closes_by_name || interface_.index == 0) return false;
  const unsigned now = if_nametoindex(interface_.name.c_str());
  return now != 0 && now != interface_.index;
}

EthdevPort::~EthdevPort() {
  if (NameIsTaken()) {
    spdlog::warn(
        "{} is another interface by now than the port's, which has gone; the port's device stays open until the daemon "
        "ends",
        interface_.name);
    any_abandoned = true;
    return;
  }
  const DpdkLogCapture quiet;
  if (FactsOf(device_.driver).keeps_frames) DropKeptFrames();
  Probed::Remove(id_);
}

void EthdevPort::DropKeptFrames() {
  std::array<rte_mbuf*, 32> mbufs;
  for (uint16_t queue = 0; queue < traits().rx_queues; ++queue) {
    while (const uint16_t n = Receive(queue, mbufs.data(), mbufs.size())) FreeBuffers(mbufs.data(), n);
  }
}

uint16_t EthdevPort::Receive(uint16_t queue, rte_mbuf** mbufs, uint16_t n) {
  const uint16_t received = rte_eth_rx_burst(id_, queue, mbufs, n);
  TakeUp(mbufs, received);
  return received;
}

uint16_t EthdevPort::Transmit(uint16_t queue, rte_mbuf** mbufs, uint16_t n) {
  PartWith(mbufs, n);
  return rte_eth_tx_burst(id_, queue, mbufs, n);
}

int EthdevPort::WakeFd(uint16_t queue) const {
  return FactsOf(device_.driver).has_files ? rte_eth_dev_rx_intr_ctl_q_get_fd(id_, queue) : -1;
}

// net_tap asks for the interface by its name and takes one that has moved to
// another network namespace for down; its file knows better.
EthdevPort::Link EthdevPort::ReadLink() const {
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_, &link) != 0) return {};
  if (pollfd file{.fd = WakeFd(0), .events = POLLOUT, .revents = 0}; file.fd >= 0 && poll(&file, 1, 0) >= 0) {
    link.link_status = (file.revents & POLLOUT) != 0 ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  }
  const bool known = link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
  return {.up = link.link_status == RTE_ETH_LINK_UP, .speed_mbps = known ? link.link_speed : 0};
}

EthdevPort::DeviceStats EthdevPort::ReadStats() const {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return {};
  return {.missed = stats.imissed, .errors = stats.ierrors, .no_buffers = stats.rx_nombuf};
}

absl::Status EthdevPort::SetMtu(uint32_t mtu) {
  uint16_t now = 0;
  if (rte_eth_dev_get_mtu(id_, &now) == 0 && now == mtu) return absl::OkStatus();
  if (FactsOf(device_.driver).mtu_unlimited) return absl::OkStatus();
  return Step(device_.driver, [&] {
    const int result = rte_eth_dev_set_mtu(id_, static_cast<uint16_t>(mtu));
    return result == -ENOTSUP ? 0 : result;
  });
}

}  // namespace sluice
