// DPDK's environment (EAL), up and down, once a process.
//
// Takes over DPDK's log, keeps EAL to one lcore on the main CPU, and puts every
// thread that exists by then on the CPUs that workers leave over: EAL pins its
// caller and its own threads, and whatever they start would inherit that.
//
// Real-time signals with no handler are ignored from then on. The driver of TAP
// devices would have the kernel send one a frame to any thread of the process,
// with a counter that two threads may spoil and then leave frames lying; with
// none to be had it polls its files, which costs a system call a poll.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"
#include "dataplane/worker/memory.h"
#include "dataplane/worker/placement.h"

struct rte_mempool;

namespace sluice {

// EAL's command line. Pure. `prefix` sets apart what EAL leaves in files.
std::vector<std::string> EalArguments(const DataplaneConfig& config, unsigned main_cpu, const MemoryPlan& memory,
                                      const std::string& prefix);

class Eal {
 public:
  // FAILED_PRECONDITION if EAL was up before in this process; INVALID_ARGUMENT
  // for arguments that it refuses; PERMISSION_DENIED; else INTERNAL.
  static absl::StatusOr<std::unique_ptr<Eal>> Start(const DataplaneConfig& config, const Placement& placement,
                                                    const MemoryPlan& memory);
  // No thread may be registered with DPDK any more.
  ~Eal();

  // Owned by this. Buffers of packet_buffer_bytes for frames and the usual headroom.
  rte_mempool* pool() const { return pool_; }
  static std::string Version();
  static uint64_t TscHz();

 private:
  explicit Eal(std::vector<std::string> arguments);
  absl::Status Init(bool has_own_arguments);
  absl::Status CreatePool(const DataplaneConfig& config, unsigned workers);

  std::vector<std::string> arguments_;  // EAL keeps pointers into them
  bool up_ = false;
  rte_mempool* pool_ = nullptr;
};

}  // namespace sluice
