// sluiced: puts the parts together, in this order, and takes them apart in the
// reverse one:
//
//   configuration, dataplane, ports, API, metrics, "ready" … a signal …
//   health NOT_SERVING, API, metrics, ports and dataplane
//
// Each step can fail in its own way; see server/exit_code.h.

#include <sys/resource.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "dataplane/dataplane.h"
#include "server/api_service.h"
#include "server/capture_api.h"
#include "server/config.h"
#include "server/exit_code.h"
#include "server/flow_api.h"
#include "server/group_api.h"
#include "server/listen_address.h"
#include "server/listen_check.h"
#include "server/logging.h"
#include "server/mac_api.h"
#include "server/meter_api.h"
#include "server/metrics.h"
#include "server/options.h"
#include "server/packet_api.h"
#include "server/port_api.h"
#include "server/quote.h"
#include "server/stop_signal.h"
#include "server/switch_api.h"
#include "server/trace_api.h"
#include "spdlog/spdlog.h"

namespace sluice {
namespace {

// From a signal to the end: calls that run get the first second.
constexpr absl::Duration kCallGrace = absl::Seconds(1);
#ifdef SLUICE_SANITIZED
// Starting DPDK, which nothing interrupts, takes seconds there.
constexpr absl::Duration kEndDeadline = absl::Seconds(18);
#else
constexpr absl::Duration kEndDeadline = absl::Milliseconds(4500);
#endif

ExitCode Fail(ExitCode code, const absl::Status& status) {
  std::fprintf(stderr, "sluiced: %s\n", OneLine(status.message()).c_str());
  return code;
}

ExitCode CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
      return ExitCode::kConfig;
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kPrivileges;
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kMemory;
    default:
      return ExitCode::kInternal;
  }
}

// A listener of gRPC's that finds no descriptor left for a connection may stay deaf
// for good, so the daemon takes as many as it is allowed.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Before anything is opened: a second daemon must not take interfaces apart only
// to find the first one's addresses in use.
absl::Status CheckAddresses(const ServerConfig& config) {
  std::vector<std::string> all = config.api_listen;
  if (!config.metrics_listen.empty()) all.push_back(config.metrics_listen);
  for (const std::string& text : all) {
    const absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
    if (!address.ok()) return address.status();
    if (absl::Status status = PrepareToListen(*address); !status.ok()) return status;
    if (absl::Status status = TryToListen(*address); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// A device that does not open leaves the rest of the switch up, unless it is
// the configuration or missing privileges that need somebody's hand.
absl::Status OpenPorts(const std::vector<PortConfig>& ports, const StopSignal& stop, Dataplane& dataplane) {
  for (const PortConfig& config : ports) {
    if (stop.requested()) return absl::OkStatus();
    const absl::StatusOr<PortInfo> port = dataplane.AddPort(config);
    if (port.ok()) {
      spdlog::info("port {} ({}): {}, MTU {}", port->config.name, port->config.number, port->driver, port->config.mtu);
      continue;
    }
    const absl::Status status(port.status().code(), absl::StrCat("port ", config.name, ": ", port.status().message()));
    if (absl::IsInvalidArgument(status) || absl::IsAlreadyExists(status) || absl::IsPermissionDenied(status))
      return status;
    spdlog::error("{}; going on without it", std::string(status.message()));
  }
  return absl::OkStatus();
}

ExitCode Serve(const ServerConfig& config, StopSignal& stop, Dataplane& dataplane) {
  const SwitchIdentity identity = NewSwitchIdentity();
  RequestCounters requests;
  FlowApi flows(dataplane.flows(), config.limits);
  FlowWatches watches(dataplane.flows(), config.limits.watchers, identity.boot_id);
  PortApi ports(dataplane);
  GroupApi groups(dataplane, config.limits);
  MeterApi meters(dataplane);
  SwitchApi switch_api(dataplane, dataplane.flows(), config.limits, identity);
  TraceApi trace(dataplane);
  MacApi macs(dataplane);
  PacketApi packets(dataplane, dataplane.flows(), config.limits);
  CaptureApi captures(dataplane, dataplane.flows(), config.limits);

  std::unique_ptr<MetricsServer> metrics;
  if (!config.metrics_listen.empty()) {
    auto started = MetricsServer::Start(
        config.metrics_listen,
        std::make_shared<Metrics>(dataplane, dataplane.flows(), packets, captures, requests, watches, identity));
    if (!started.ok()) return Fail(ExitCode::kListen, started.status());
    metrics = *std::move(started);
    spdlog::info("metrics on {}", metrics->url());
  }
  auto api =
      ApiServer::Start(config.api_listen, MaxRequestBytes(config.limits),
                       {flows, ports, switch_api, macs, packets, trace, requests, watches, groups, meters, captures});
  if (!api.ok()) return Fail(ExitCode::kListen, api.status());
  (*api)->SetServing(true);
  spdlog::info("ready: sluiced {}, {} ports, {} workers, listening on {}", identity.version,
               dataplane.ListPorts().size(), dataplane.Workers().size(), absl::StrJoin((*api)->addresses(), ", "));

  stop.Wait();
  (*api)->SetServing(false);
  packets.Close();
  captures.Close();
  (*api)->Shutdown(kCallGrace);
  metrics.reset();
  return ExitCode::kOk;
}

ExitCode Run(const Options& options) {
  const absl::StatusOr<ServerConfig> config = ConfigFor(options);
  if (!config.ok()) return Fail(ExitCode::kConfig, config.status());
  if (options.check_config) {
    std::printf("%s: ok\n", options.config_file.c_str());
    return ExitCode::kOk;
  }
  StartLogging(config->log_level, config->log_format);
  RaiseDescriptorLimit();
  StopSignal stop(kEndDeadline);
  if (absl::Status status = CheckAddresses(*config); !status.ok()) return Fail(ExitCode::kListen, status);
  absl::StatusOr<std::unique_ptr<Dataplane>> dataplane = Dataplane::Start(config->dataplane);
  if (!dataplane.ok()) return Fail(CodeOf(dataplane.status()), dataplane.status());
  const absl::Status opened = OpenPorts(config->ports, stop, **dataplane);
  if (!opened.ok()) return Fail(CodeOf(opened), opened);
  if (stop.requested()) return ExitCode::kOk;
  const ExitCode code = Serve(*config, stop, **dataplane);
  dataplane->reset();
  if (code == ExitCode::kOk) spdlog::info("ended");
  return code;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const auto options = sluice::ParseOptions(argc, argv);
  const sluice::ExitCode code = std::holds_alternative<sluice::ExitCode>(options)
                                    ? std::get<sluice::ExitCode>(options)
                                    : sluice::Run(std::get<sluice::Options>(options));
  return static_cast<int>(code);
}
