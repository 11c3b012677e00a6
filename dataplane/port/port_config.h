// What a port is made of and what it has counted, as the control side sees it.
// Value types; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"

namespace sluice {

struct TapDevice {
  std::string interface;  // empty: the port's name
};
struct InterfaceDevice {
  std::string interface;  // empty: the port's name
};
struct PcapDevice {
  std::string rx_file;
  std::string tx_file;
  bool infinite_rx = false;
};
struct NullDevice {
  uint32_t rx_frame_bytes = 0;
};
struct RingDevice {};
struct PciDevice {
  std::string address;
};
struct DevargsDevice {
  std::string devargs;
};
using PortDevice =
    std::variant<TapDevice, InterfaceDevice, PcapDevice, NullDevice, RingDevice, PciDevice, DevargsDevice>;

struct PortConfig {
  std::string name;
  uint32_t number = 0;  // 0: the lowest free
  PortDevice device;
  uint32_t mtu = 1500;     // bytes behind the Ethernet header and VLAN tags
  uint32_t rx_queues = 0;  // 0: one a worker, or as many as the device has
  bool enabled = true;
  bool receive = true;
};

struct PortStats {
  uint64_t receive_packets = 0;
  uint64_t receive_bytes = 0;
  uint64_t transmit_packets = 0;
  uint64_t transmit_bytes = 0;
  uint64_t receive_missed = 0;
  uint64_t receive_errors = 0;
  uint64_t receive_no_buffers = 0;
  // Copies lost on the way out.
  uint64_t drop_tx_full = 0;
  uint64_t drop_mtu = 0;
  uint64_t drop_down = 0;
  uint64_t drop_no_buffers = 0;
};

struct PortInfo {
  PortConfig config;  // as it is now
  bool link_up = false;
  uint32_t link_speed_mbps = 0;  // 0: unknown
  std::string mac_address;
  std::string driver;
  int numa_node = -1;
  PortStats stats;
};

// The device as DPDK's devargs, for example "net_tap0,iface=p1"; `unique` makes
// the device's own name unique in the process. INVALID_ARGUMENT says what is
// wrong with it and what would be right.
absl::StatusOr<std::string> DevargsOf(const PortConfig& config, unsigned unique);

}  // namespace sluice
