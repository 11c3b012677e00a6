// A port on a DPDK Ethernet device.
//
// Open brings a device into being from its devargs (or takes one that EAL found
// by itself), configures and starts it; Close undoes all of it, so that the same
// devargs can be opened again. What single drivers need that their description
// does not say stands in one table in ethdev_port.cc.
//
// Open, Close and SetMtu: one control thread at a time. Link and Stats: any
// control thread before Close. Receive and Transmit: as Port.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/port/port.h"

struct rte_device;
struct rte_eth_dev_info;
struct rte_mempool;

namespace sluice {

class EthdevPort : public Port {
 public:
  struct Options {
    std::string devargs;
    uint32_t mtu = 1500;
    uint32_t rx_queues = 0;  // 0: one a worker, or as many as the device has
    unsigned workers = 1;
    uint32_t buffer_bytes = 0;  // frame bytes that fit a buffer of the pool
    rte_mempool* pool = nullptr;
  };
  struct Device {
    std::string driver;
    std::string mac_address;
    int numa_node = -1;
  };
  struct Link {
    bool up = false;
    uint32_t speed_mbps = 0;
  };
  // The kernel's network interface of a device that has one.
  struct Interface {
    unsigned index = 0;  // 0: none
    std::string name;
  };
  struct DeviceStats {
    uint64_t missed = 0;
    uint64_t errors = 0;
    uint64_t no_buffers = 0;
  };

  // ALREADY_EXISTS if a device of that name is in use; INVALID_ARGUMENT for what
  // the device cannot do; else as the driver's reason says, FAILED_PRECONDITION
  // if it says nothing.
  static absl::StatusOr<std::unique_ptr<EthdevPort>> Open(const Options& options);
  ~EthdevPort() override;

  uint16_t Receive(uint16_t queue, rte_mbuf** mbufs, uint16_t n) override;
  uint16_t Transmit(uint16_t queue, rte_mbuf** mbufs, uint16_t n) override;
  int WakeFd(uint16_t queue) const override;

  const Device& device() const { return device_; }
  // True once a device had to be left as it was: DPDK must not close it at the end either.
  static bool AnyAbandoned();
  Link ReadLink() const;
  DeviceStats ReadStats() const;
  absl::Status SetMtu(uint32_t mtu);

 private:
  EthdevPort(uint16_t id, const Traits& traits, Device device, Interface interface);
  void DropKeptFrames();
  bool NameIsTaken() const;

  const uint16_t id_;
  const Device device_;
  const Interface interface_;
};

}  // namespace sluice
