// Any bytes as a configuration file: it is refused with one line that names a
// place, or what it says is within its limits and consistent.
//
// Input: the file.

#include <set>

#include "server/config.h"
#include "tests/fuzz/input.h"

namespace sluice::fuzz {
namespace {

// "FILE:LINE:COL: what is wrong…"
void CheckError(const absl::Status& status) {
  const std::string message(status.message());
  int line = 0, column = 0, end = 0;
  const int read = std::sscanf(message.c_str(), "sluiced.yaml:%d:%d: %n", &line, &column, &end);
  const bool placed = read == 2 && line >= 1 && column >= 1 && message.c_str()[end] != '\0';
  const bool one_line = message.find('\n') == std::string::npos;
  if (!absl::IsInvalidArgument(status) || !placed || !one_line) Fail("an error that helps nobody: " + message);
}

void CheckPorts(const std::vector<PortConfig>& ports) {
  std::set<std::string> names;
  std::set<uint32_t> numbers;
  for (const PortConfig& port : ports) {
    if (!CheckPortName(port.name).empty()) Fail("a port's name: " + port.name);
    if (!names.insert(port.name).second) Fail("a port's name twice: " + port.name);
    if (port.number != 0 && !numbers.insert(port.number).second) Fail("a port's number twice");
    if (port.number > kMaxPortNumber || port.rx_queues > kMaxRxQueues) Fail("a port's numbers: " + port.name);
    if (port.mtu < kMinMtu || port.mtu > kMaxMtu) Fail("a port's MTU: " + port.name);
    if (!DevargsOf(port, 7).ok()) Fail("device arguments: " + std::string(DevargsOf(port, 7).status().message()));
  }
  if (ports.size() > Dataplane::kMaxPorts) Fail("too many ports");
}

void CheckConfig(const ServerConfig& config) {
  const DataplaneConfig& dataplane = config.dataplane;
  CheckPorts(config.ports);
  if (config.api_listen.empty()) Fail("nowhere to listen");
  if (!config.metrics_listen.empty() && !CheckMetricsAddress(config.metrics_listen).ok()) Fail("metrics.listen");
  if (dataplane.worker_count < 1 || dataplane.rx_burst < 1 || dataplane.rx_burst > 32) Fail("workers");
  if (!dataplane.worker_cpus.empty() && dataplane.worker_cpus.size() != dataplane.worker_count) Fail("workers.cpus");
  if (dataplane.limits.max_flows < 1 || dataplane.limits.max_masks_per_table < 1) Fail("limits of the table");
  if (config.limits.batch_items < 1 || config.limits.actions_per_flow < 1) Fail("limits of the API");
}

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  const absl::StatusOr<ServerConfig> config = ParseConfig(fuzz::Input(data, size).RestAsText(), "sluiced.yaml");
  if (config.ok()) {
    fuzz::CheckConfig(*config);
  } else {
    fuzz::CheckError(config.status());
  }
  return 0;
}
