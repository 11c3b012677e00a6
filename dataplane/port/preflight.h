// Whether a device's surroundings are there, asked before its driver is.
//
// Drivers report a failed open without errno, take any capture for Ethernet, and
// some break when their set-up fails half way. What can be known beforehand is
// said here, with the reason that the kernel or libpcap gives.

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "dataplane/port/port_config.h"

namespace sluice {

struct PreflightLimits {
  uint32_t buffer_bytes = 0;   // frame bytes that fit one packet buffer
  uint32_t spare_buffers = 0;  // packet buffers that a device may keep for itself
  bool use_pci = false;
};

// PERMISSION_DENIED, INVALID_ARGUMENT, RESOURCE_EXHAUSTED or FAILED_PRECONDITION.
absl::Status Preflight(const PortConfig& config, const PreflightLimits& limits);

}  // namespace sluice
