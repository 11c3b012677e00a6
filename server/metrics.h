// /metrics for Prometheus: the dataplane's counters, summed when scraped.
//
// One Collectable over everything; nothing is kept between scrapes, so series
// of deleted ports are gone and nothing is added per packet. No label holds
// anything of a packet or a flow: the number of series depends on ports,
// workers, tables and methods only.
//
// Collect: any thread, while the dataplane lives.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/dataplane.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/capture_api.h"
#include "server/flow_watches.h"
#include "server/listen_address.h"
#include "server/packet_api.h"
#include "server/request_counters.h"
#include "server/switch_api.h"

namespace prometheus {
class Exposer;
}

namespace sluice {

// What a scrape shows.
struct MetricsSnapshot {
  std::string version;
  std::string dpdk_version;
  absl::Time start_time;
  PacketTotals totals;
  std::vector<WorkerInfo> workers;
  std::vector<PortInfo> ports;
  std::vector<TableInfo> tables;
  FlowTableLimits limits;
  std::array<uint64_t, kFlowRemovalCount> removals{};  // by FlowRemoval
  uint64_t watchers = 0;
  uint64_t watch_events_missed = 0;
  size_t groups = 0;
  size_t max_groups = 0;
  size_t meters = 0;
  size_t max_meters = 0;
  MacTableInfo macs;
  PacketApi::Counters packets;
  CaptureApi::Counters captures;
};

// Without the API's requests.
std::vector<prometheus::MetricFamily> MetricsOf(const MetricsSnapshot& snapshot);
prometheus::MetricFamily RequestMetrics(const RequestCounters& requests);

class Metrics final : public prometheus::Collectable {
 public:
  // All outlive it.
  Metrics(Dataplane& dataplane, const FlowTable& flows, const PacketApi& packets, const CaptureApi& captures,
          const RequestCounters& requests, const FlowWatches& watches, const SwitchIdentity& identity)
      : dataplane_(dataplane),
        flows_(flows),
        packets_(packets),
        captures_(captures),
        requests_(requests),
        watches_(watches),
        identity_(identity) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  Dataplane& dataplane_;
  const FlowTable& flows_;
  const PacketApi& packets_;
  const CaptureApi& captures_;
  const RequestCounters& requests_;
  const FlowWatches& watches_;
  const SwitchIdentity& identity_;
};

// Serves the metrics over HTTP as long as it lives.
class MetricsServer {
 public:
  // FAILED_PRECONDITION names the address that cannot be listened on, and why.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& listen,
                                                              std::shared_ptr<prometheus::Collectable> metrics);
  ~MetricsServer();

  // With the port that was chosen for port 0.
  const std::string& url() const { return url_; }

 private:
  MetricsServer();

  ListenAddress address_;
  std::shared_ptr<prometheus::Collectable> metrics_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::string url_;
};

}  // namespace sluice
