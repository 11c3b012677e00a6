// The switch's ports by name and number: their devices, from opening to closing.
//
// Adds to the engine what has been opened and takes from it what is to be
// closed; what fails on the way is undone, and no other port notices.
//
// Any control thread. Changes go one at a time, for as long as a device takes;
// reading waits for none of them. Remove waits for workers.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"
#include "dataplane/port/ethdev_port.h"
#include "dataplane/port/port_config.h"
#include "dataplane/worker/engine.h"

struct rte_mempool;

namespace sluice {

class PortRegistry {
 public:
  struct Options {
    unsigned workers = 1;
    uint32_t buffer_bytes = 0;
    bool use_pci = false;
  };

  // Both outlive the registry.
  PortRegistry(const Options& options, rte_mempool* pool, Engine& engine);
  // Removes all ports.
  ~PortRegistry();

  absl::StatusOr<PortInfo> Add(const PortConfig& config);
  absl::StatusOr<PortInfo> Remove(uint32_t number);
  absl::StatusOr<PortInfo> Update(uint32_t number, const Dataplane::PortChange& change);
  absl::StatusOr<PortInfo> Get(uint32_t number) const;
  absl::StatusOr<uint32_t> NumberOf(const std::string& name) const;
  std::string NameOf(uint32_t number) const;  // empty: there is none
  std::vector<PortInfo> List() const;
  // Tells the engine which ports have a link, unless a change of a port is under way: now and then, a thread of
  // its own.
  void CheckLinks();

 private:
  struct Entry {
    PortConfig config;
    unsigned unique = 0;  // in the device's own name
    std::unique_ptr<EthdevPort> device;
  };

  absl::StatusOr<uint32_t> ChooseNumber(const PortConfig& config) const;
  unsigned ChooseUnique() const;
  absl::StatusOr<std::unique_ptr<EthdevPort>> Open(const PortConfig& config, unsigned unique);
  uint32_t SpareBuffers() const;
  PortInfo InfoOf(const Entry& entry) const;

  const Options options_;
  rte_mempool* const pool_;
  Engine& engine_;

  std::mutex changes_;               // held through a change
  mutable std::mutex mutex_;         // guards ports_; taken after changes_
  std::map<uint32_t, Entry> ports_;  // by number
};

}  // namespace sluice
