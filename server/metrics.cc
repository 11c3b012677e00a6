#include "server/metrics.h"

#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "prometheus/exposer.h"
#include "server/listen_check.h"

namespace sluice {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  void Begin(MetricType type, const char* name, const char* help) { families_.push_back({name, help, type, {}}); }
  void Add(Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (families_.back().type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    families_.back().metric.push_back(std::move(metric));
  }
  std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  std::vector<MetricFamily> families_;
};

// A family whose series come from one field of each element.
template <typename T>
struct CounterOf {
  const char* name;
  const char* help;
  uint64_t T::*field;
};

template <typename T>
struct DropField {
  const char* reason;
  uint64_t T::*field;
};

constexpr CounterOf<PortStats> kPortCounters[] = {
    {"sluice_port_receive_packets_total", "Frames received.", &PortStats::receive_packets},
    {"sluice_port_receive_bytes_total", "Bytes of the frames received, without FCS.", &PortStats::receive_bytes},
    {"sluice_port_transmit_packets_total", "Frames sent.", &PortStats::transmit_packets},
    {"sluice_port_transmit_bytes_total", "Bytes of the frames sent, without FCS.", &PortStats::transmit_bytes},
    {"sluice_port_receive_missed_total", "Frames that the device dropped since nobody took them in time.",
     &PortStats::receive_missed},
    {"sluice_port_receive_errors_total", "Frames that the device could not receive.", &PortStats::receive_errors},
    {"sluice_port_receive_no_buffers_total", "Frames dropped on receipt for want of packet buffers.",
     &PortStats::receive_no_buffers},
};

constexpr DropField<PortStats> kPortDrops[] = {{"tx_full", &PortStats::drop_tx_full},
                                               {"mtu", &PortStats::drop_mtu},
                                               {"down", &PortStats::drop_down},
                                               {"no_buffers", &PortStats::drop_no_buffers}};

constexpr CounterOf<WorkerInfo> kWorkerCounters[] = {
    {"sluice_worker_busy_cycles_total", "Time stamp counter cycles of polls that brought packets.",
     &WorkerInfo::busy_cycles},
    {"sluice_worker_idle_cycles_total", "Time stamp counter cycles of polls that brought none, sleep included.",
     &WorkerInfo::idle_cycles},
    {"sluice_worker_sleeps_total", "How often the worker slept.", &WorkerInfo::sleeps},
    {"sluice_worker_bursts_total", "Polls that brought packets.", &WorkerInfo::bursts},
    {"sluice_worker_flow_cache_hits_total", "Packets that the worker's flow cache answered.",
     &WorkerInfo::flow_cache_hits},
    {"sluice_worker_flow_cache_misses_total",
     "Packets that were looked up since the worker's flow cache had no answer.", &WorkerInfo::flow_cache_misses},
    {"sluice_worker_flow_cache_evictions_total", "Answers of the worker's flow cache that held and gave way to others.",
     &WorkerInfo::flow_cache_evictions},
};

constexpr CounterOf<TableInfo> kTableCounters[] = {
    {"sluice_table_lookups_total", "Packets looked up in the table, those included that a flow cache answered.",
     &TableInfo::lookups},
    {"sluice_table_matches_total", "Packets that hit a flow of the table.", &TableInfo::matches},
    {"sluice_table_masks_visited_total", "Masks tried for packets of the table, all in all.",
     &TableInfo::masks_visited},
    {"sluice_table_mask_cache_hits_total", "Packets whose flow was found under the mask that a mask cache named.",
     &TableInfo::mask_cache_hits},
    {"sluice_table_pruned_lookups_total", "Packets for which the pruning index chose the masks to try.",
     &TableInfo::pruned_lookups},
};

void PortMetrics(const std::vector<PortInfo>& ports, Families& out) {
  for (const CounterOf<PortStats>& counter : kPortCounters) {
    out.Begin(MetricType::Counter, counter.name, counter.help);
    for (const PortInfo& port : ports) {
      out.Add({{"port", port.config.name}}, static_cast<double>(port.stats.*counter.field));
    }
  }
  out.Begin(MetricType::Counter, "sluice_port_transmit_dropped_packets_total",
            "Copies of packets lost on the way out of the port, by reason.");
  for (const PortInfo& port : ports) {
    for (const DropField<PortStats>& drop : kPortDrops) {
      out.Add({{"port", port.config.name}, {"reason", drop.reason}}, static_cast<double>(port.stats.*drop.field));
    }
  }
  out.Begin(MetricType::Gauge, "sluice_port_up", "1 if the port is enabled and its device reports a link.");
  for (const PortInfo& port : ports) {
    out.Add({{"port", port.config.name}}, port.config.enabled && port.link_up ? 1 : 0);
  }
}

void PacketMetrics(const PacketTotals& totals, Families& out) {
  out.Begin(MetricType::Counter, "sluice_packets_received_total", "Packets that workers received.");
  out.Add({}, static_cast<double>(totals.received));
  out.Begin(MetricType::Counter, "sluice_packets_injected_total", "Packets that controllers sent.");
  out.Add({}, static_cast<double>(totals.injected));
  out.Begin(MetricType::Counter, "sluice_packets_forwarded_total", "Packets with at least one output.");
  out.Add({}, static_cast<double>(totals.forwarded));
  out.Begin(MetricType::Counter, "sluice_packets_dropped_total", "Packets without an output, each for one reason.");
  for (int i = 0; i < kDropReasonCount; ++i) {
    out.Add({{"reason", DropReasonName(static_cast<DropReason>(i))}}, static_cast<double>(totals.drops[i]));
  }
  out.Begin(MetricType::Counter, "sluice_packets_malformed_total",
            "Packets, forwarded or dropped, whose headers contradict their own length.");
  out.Add({}, static_cast<double>(totals.malformed));
}

void WorkerMetrics(const std::vector<WorkerInfo>& workers, Families& out) {
  for (const CounterOf<WorkerInfo>& counter : kWorkerCounters) {
    out.Begin(MetricType::Counter, counter.name, counter.help);
    for (const WorkerInfo& worker : workers) {
      out.Add({{"worker", absl::StrCat(worker.id)}}, static_cast<double>(worker.*counter.field));
    }
  }
}

void TableMetrics(const std::vector<TableInfo>& tables, const FlowTableLimits& limits, Families& out) {
  const auto label = [](const TableInfo& table) { return Labels{{"table", absl::StrCat(table.id)}}; };
  out.Begin(MetricType::Gauge, "sluice_table_flows", "Flows in the table.");
  for (const TableInfo& table : tables) out.Add(label(table), static_cast<double>(table.flow_count));
  out.Begin(MetricType::Gauge, "sluice_table_masks", "Different masks among the table's flows.");
  for (const TableInfo& table : tables) out.Add(label(table), table.mask_count);
  out.Begin(MetricType::Gauge, "sluice_table_flows_limit", "Flows that all tables together may hold.");
  out.Add({}, static_cast<double>(limits.max_flows));
  out.Begin(MetricType::Gauge, "sluice_table_masks_limit", "Masks that a table may hold.");
  out.Add({}, limits.max_masks_per_table);
  out.Begin(MetricType::Gauge, "sluice_table_indexed_masks", "Masks in the table's pruning index; 0: it has none.");
  for (const TableInfo& table : tables) out.Add(label(table), table.indexed_masks);
  out.Begin(MetricType::Gauge, "sluice_table_index_bytes", "Memory of the table's pruning index.");
  for (const TableInfo& table : tables) out.Add(label(table), static_cast<double>(table.index_bytes));
  for (const CounterOf<TableInfo>& counter : kTableCounters) {
    out.Begin(MetricType::Counter, counter.name, counter.help);
    for (const TableInfo& table : tables) out.Add(label(table), static_cast<double>(table.*counter.field));
  }
}

void FlowMetrics(const MetricsSnapshot& snapshot, Families& out) {
  constexpr const char* kReasons[kFlowRemovalCount] = {"idle_timeout", "hard_timeout", "delete"};
  out.Begin(MetricType::Counter, "sluice_flows_removed_total", "Flows removed, by reason.");
  for (int i = 0; i < kFlowRemovalCount; ++i) {
    out.Add({{"reason", kReasons[i]}}, static_cast<double>(snapshot.removals[i]));
  }
  out.Begin(MetricType::Gauge, "sluice_flow_watchers", "Clients that watch flows.");
  out.Add({}, static_cast<double>(snapshot.watchers));
  out.Begin(MetricType::Counter, "sluice_flow_watch_events_missed_total",
            "Events that watchers of flows missed since they read too slowly or were away too long.");
  out.Add({}, static_cast<double>(snapshot.watch_events_missed));
}

void PolicyMetrics(const MetricsSnapshot& snapshot, Families& out) {
  out.Begin(MetricType::Gauge, "sluice_groups", "Groups.");
  out.Add({}, static_cast<double>(snapshot.groups));
  out.Begin(MetricType::Gauge, "sluice_groups_limit", "Groups that there may be.");
  out.Add({}, static_cast<double>(snapshot.max_groups));
  out.Begin(MetricType::Gauge, "sluice_meters", "Meters.");
  out.Add({}, static_cast<double>(snapshot.meters));
  out.Begin(MetricType::Gauge, "sluice_meters_limit", "Meters that there may be.");
  out.Add({}, static_cast<double>(snapshot.max_meters));
}

void ControllerMetrics(const MetricsSnapshot& snapshot, Families& out) {
  const PacketApi::Counters& packets = snapshot.packets;
  uint64_t punted = 0, lost = 0;
  for (const WorkerInfo& worker : snapshot.workers) {
    punted += worker.punted;
    lost += worker.punts_lost;
  }
  out.Begin(MetricType::Gauge, "sluice_packet_in_clients", "Controllers that listen to packets.");
  out.Add({}, static_cast<double>(packets.clients));
  out.Begin(MetricType::Counter, "sluice_packet_in_total", "Packets that workers queued for controllers.");
  out.Add({}, static_cast<double>(punted));
  out.Begin(MetricType::Counter, "sluice_packet_in_delivered_total",
            "Packets queued for a controller, for each that gets them.");
  out.Add({}, static_cast<double>(packets.delivered));
  out.Begin(MetricType::Counter, "sluice_packet_in_dropped_total",
            "Packets that a controller did not get: its rate, its queue, or (for all) a worker's queue.");
  out.Add({{"reason", "rate"}}, static_cast<double>(packets.dropped_rate));
  out.Add({{"reason", "queue"}}, static_cast<double>(packets.dropped_queue));
  out.Add({{"reason", "worker"}}, static_cast<double>(lost));
  out.Begin(MetricType::Counter, "sluice_packet_out_refused_total", "Packets of controllers that were too many.");
  out.Add({}, static_cast<double>(packets.refused));
}

void CaptureMetrics(const CaptureApi::Counters& captures, Families& out) {
  out.Begin(MetricType::Gauge, "sluice_captures", "Packet captures that run.");
  out.Add({}, static_cast<double>(captures.captures));
  out.Begin(MetricType::Gauge, "sluice_captures_limit", "Packet captures that may run.");
  out.Add({}, static_cast<double>(captures.limit));
  out.Begin(MetricType::Counter, "sluice_capture_missed_packets_total",
            "Packets that captures missed: a worker's ring or the caller's queue was full.");
  out.Add({{"reason", "worker"}}, static_cast<double>(captures.missed_worker));
  out.Add({{"reason", "queue"}}, static_cast<double>(captures.missed_queue));
}

void MacMetrics(const MacTableInfo& macs, Families& out) {
  out.Begin(MetricType::Gauge, "sluice_mac_entries", "Stations that NORMAL knows.");
  out.Add({}, macs.entries);
  out.Begin(MetricType::Gauge, "sluice_mac_entries_limit", "Stations that NORMAL may know.");
  out.Add({}, macs.options.entries);
  constexpr CounterOf<MacTableInfo> kCounters[] = {
      {"sluice_mac_learned_total", "Stations that were new.", &MacTableInfo::learned},
      {"sluice_mac_moved_total", "Stations that were known behind another port.", &MacTableInfo::moved},
      {"sluice_mac_evicted_total", "Stations that gave way to others since the table was full.",
       &MacTableInfo::evicted},
      {"sluice_mac_expired_total", "Stations that were silent for too long.", &MacTableInfo::expired}};
  for (const CounterOf<MacTableInfo>& counter : kCounters) {
    out.Begin(MetricType::Counter, counter.name, counter.help);
    out.Add({}, static_cast<double>(macs.*counter.field));
  }
}

}  // namespace

std::vector<MetricFamily> MetricsOf(const MetricsSnapshot& snapshot) {
  Families out;
  out.Begin(MetricType::Gauge, "sluice_build_info", "Always 1; the labels say what runs.");
  out.Add({{"version", snapshot.version}, {"dpdk", snapshot.dpdk_version}}, 1);
  out.Begin(MetricType::Gauge, "sluice_start_time_seconds", "When the switch started, in seconds since 1970.");
  out.Add({}, absl::ToDoubleSeconds(snapshot.start_time - absl::UnixEpoch()));
  PacketMetrics(snapshot.totals, out);
  PortMetrics(snapshot.ports, out);
  WorkerMetrics(snapshot.workers, out);
  TableMetrics(snapshot.tables, snapshot.limits, out);
  FlowMetrics(snapshot, out);
  PolicyMetrics(snapshot, out);
  ControllerMetrics(snapshot, out);
  CaptureMetrics(snapshot.captures, out);
  MacMetrics(snapshot.macs, out);
  return out.Take();
}

MetricFamily RequestMetrics(const RequestCounters& requests) {
  Families out;
  out.Begin(MetricType::Counter, "sluice_grpc_requests_total", "Calls of the API that were answered, by code.");
  requests.ForEach([&out](absl::string_view method, const std::string& code, uint64_t count) {
    out.Add({{"method", std::string(method)}, {"code", code}}, static_cast<double>(count));
  });
  return std::move(out.Take().front());
}

std::vector<MetricFamily> Metrics::Collect() const {
  std::vector<MetricFamily> families = MetricsOf({.version = identity_.version,
                                                  .dpdk_version = dataplane_.environment().dpdk_version,
                                                  .start_time = identity_.start_time,
                                                  .totals = dataplane_.Totals(),
                                                  .workers = dataplane_.Workers(),
                                                  .ports = dataplane_.ListPorts(),
                                                  .tables = flows_.Tables(),
                                                  .limits = flows_.limits(),
                                                  .removals = flows_.removals(),
                                                  .watchers = watches_.open(),
                                                  .watch_events_missed = watches_.missed(),
                                                  .groups = dataplane_.groups().size(),
                                                  .max_groups = dataplane_.groups().max_groups(),
                                                  .meters = dataplane_.meters().size(),
                                                  .max_meters = dataplane_.meters().max_meters(),
                                                  .macs = dataplane_.Macs(),
                                                  .packets = packets_.counters(),
                                                  .captures = captures_.counters()});
  families.push_back(RequestMetrics(requests_));
  return families;
}

MetricsServer::MetricsServer() = default;

// The HTTP server looks for its end only every 2 s, or when somebody connects: so somebody does.
MetricsServer::~MetricsServer() {
  if (exposer_ == nullptr) return;
  std::atomic<bool> ended{false};
  std::thread end([this, &ended] {
    exposer_.reset();
    ended = true;
  });
  while (!ended) {
    Knock(address_);
    absl::SleepFor(absl::Milliseconds(5));
  }
  end.join();
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& listen,
                                                                    std::shared_ptr<prometheus::Collectable> metrics) {
  absl::StatusOr<ListenAddress> address = ParseListenAddress(listen);
  if (!address.ok()) return address.status();
  std::unique_ptr<MetricsServer> server(new MetricsServer);
  try {
    // As many connections at a time; one that says nothing is given up soon, so that
    // idle ones can't keep Prometheus out.
    server->exposer_ = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", address->ToString(), "num_threads", "16", "request_timeout_ms", "2000"});
    const std::vector<int> ports = server->exposer_->GetListeningPorts();
    if (!ports.empty()) address->port = static_cast<uint16_t>(ports.front());
  } catch (const std::exception& e) {
    if (absl::Status status = TryToListen(*address); !status.ok()) return status;
    return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", listen, ": ", e.what()));
  }
  server->address_ = *address;
  server->metrics_ = std::move(metrics);
  server->exposer_->RegisterCollectable(server->metrics_);
  server->url_ = absl::StrCat("http://", address->ToString(), "/metrics");
  return server;
}

}  // namespace sluice
