// The text of a scrape, from counters that are known.

#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

MetricsSnapshot Snapshot() {
  MetricsSnapshot snapshot;
  snapshot.version = "0.1.0";
  snapshot.dpdk_version = "DPDK 22.11.11";
  snapshot.start_time = absl::FromUnixMillis(1'700'000'000'500);
  snapshot.totals.received = 30;
  snapshot.totals.forwarded = 20;
  for (int i = 0; i < kDropReasonCount; ++i) snapshot.totals.drops[i] = i + 1;
  snapshot.totals.malformed = 4;
  snapshot.workers.resize(2);
  snapshot.workers[1].id = 1;
  snapshot.workers[1].busy_cycles = 11;
  snapshot.workers[1].idle_cycles = 12;
  snapshot.workers[1].sleeps = 13;
  snapshot.workers[1].bursts = 14;
  snapshot.workers[1].flow_cache_hits = 15;
  snapshot.workers[1].flow_cache_misses = 16;
  snapshot.workers[1].flow_cache_evictions = 17;
  PortInfo port;
  port.config.name = "p1";
  port.link_up = true;
  port.stats = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  snapshot.ports.push_back(port);
  port.config.name = "p2";
  port.config.enabled = false;
  snapshot.ports.push_back(port);
  snapshot.tables.push_back({.id = 0,
                             .flow_count = 5,
                             .mask_count = 2,
                             .lookups = 30,
                             .matches = 25,
                             .masks_visited = 40,
                             .mask_cache_hits = 41,
                             .pruned_lookups = 42,
                             .indexed_masks = 43,
                             .index_bytes = 44});
  snapshot.totals.injected = 10;
  snapshot.workers[1].punted = 18;
  snapshot.workers[1].punts_lost = 19;
  snapshot.macs = {.entries = 50, .options = {.entries = 51}, .learned = 52, .moved = 53, .evicted = 54, .expired = 55};
  snapshot.packets = {.clients = 60, .delivered = 61, .dropped_rate = 62, .dropped_queue = 63, .refused = 64};
  snapshot.captures = {.captures = 65, .limit = 66, .missed_worker = 67, .missed_queue = 68};
  snapshot.limits = {.max_flows = 1000, .max_masks_per_table = 99};
  return snapshot;
}

std::string TextOf(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

constexpr const char* kLines[] = {
    "sluice_build_info{version=\"0.1.0\",dpdk=\"DPDK 22.11.11\"} 1\n",
    "sluice_start_time_seconds 1700000000.5\n",
    "sluice_packets_received_total 30\n",
    "sluice_packets_forwarded_total 20\n",
    "sluice_packets_dropped_total{reason=\"no_flow\"} 1\n",
    "sluice_packets_dropped_total{reason=\"action_drop\"} 2\n",
    "sluice_packets_dropped_total{reason=\"ttl\"} 3\n",
    "sluice_packets_dropped_total{reason=\"output_to_ingress\"} 4\n",
    "sluice_packets_dropped_total{reason=\"no_such_port\"} 5\n",
    "sluice_packets_dropped_total{reason=\"malformed\"} 6\n",
    "sluice_packets_dropped_total{reason=\"no_buffers\"} 7\n",
    "sluice_packets_malformed_total 4\n",
    "sluice_port_receive_packets_total{port=\"p1\"} 1\n",
    "sluice_port_receive_bytes_total{port=\"p1\"} 2\n",
    "sluice_port_transmit_packets_total{port=\"p1\"} 3\n",
    "sluice_port_transmit_bytes_total{port=\"p1\"} 4\n",
    "sluice_port_receive_missed_total{port=\"p1\"} 5\n",
    "sluice_port_receive_errors_total{port=\"p1\"} 6\n",
    "sluice_port_receive_no_buffers_total{port=\"p1\"} 7\n",
    "sluice_port_transmit_dropped_packets_total{port=\"p1\",reason=\"tx_full\"} 8\n",
    "sluice_port_transmit_dropped_packets_total{port=\"p1\",reason=\"mtu\"} 9\n",
    "sluice_port_transmit_dropped_packets_total{port=\"p1\",reason=\"down\"} 10\n",
    "sluice_port_transmit_dropped_packets_total{port=\"p1\",reason=\"no_buffers\"} 11\n",
    "sluice_port_up{port=\"p1\"} 1\n",
    "sluice_port_up{port=\"p2\"} 0\n",
    "sluice_worker_busy_cycles_total{worker=\"0\"} 0\n",
    "sluice_worker_busy_cycles_total{worker=\"1\"} 11\n",
    "sluice_worker_idle_cycles_total{worker=\"1\"} 12\n",
    "sluice_worker_sleeps_total{worker=\"1\"} 13\n",
    "sluice_worker_bursts_total{worker=\"1\"} 14\n",
    "sluice_worker_flow_cache_hits_total{worker=\"1\"} 15\n",
    "sluice_worker_flow_cache_misses_total{worker=\"1\"} 16\n",
    "sluice_worker_flow_cache_evictions_total{worker=\"1\"} 17\n",
    "sluice_table_flows{table=\"0\"} 5\n",
    "sluice_table_masks{table=\"0\"} 2\n",
    "sluice_table_flows_limit 1000\n",
    "sluice_table_masks_limit 99\n",
    "sluice_table_lookups_total{table=\"0\"} 30\n",
    "sluice_table_matches_total{table=\"0\"} 25\n",
    "sluice_table_masks_visited_total{table=\"0\"} 40\n",
    "sluice_table_mask_cache_hits_total{table=\"0\"} 41\n",
    "sluice_table_pruned_lookups_total{table=\"0\"} 42\n",
    "sluice_table_indexed_masks{table=\"0\"} 43\n",
    "sluice_table_index_bytes{table=\"0\"} 44\n",
    "sluice_packets_injected_total 10\n",
    "sluice_packet_in_total 18\n",
    "sluice_packet_in_dropped_total{reason=\"worker\"} 19\n",
    "sluice_mac_entries 50\n",
    "sluice_mac_entries_limit 51\n",
    "sluice_mac_learned_total 52\n",
    "sluice_mac_moved_total 53\n",
    "sluice_mac_evicted_total 54\n",
    "sluice_mac_expired_total 55\n",
    "sluice_packet_in_clients 60\n",
    "sluice_packet_in_delivered_total 61\n",
    "sluice_packet_in_dropped_total{reason=\"rate\"} 62\n",
    "sluice_packet_in_dropped_total{reason=\"queue\"} 63\n",
    "sluice_packet_out_refused_total 64\n",
    "sluice_captures 65\n",
    "sluice_captures_limit 66\n",
    "sluice_capture_missed_packets_total{reason=\"worker\"} 67\n",
    "sluice_capture_missed_packets_total{reason=\"queue\"} 68\n",
};

TEST(MetricsTest, EveryCounterHasItsLine) {
  const std::string text = TextOf(MetricsOf(Snapshot()));
  for (const char* line : kLines) EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsTest, NamesAreAsPrometheusWantsThem) {
  RequestCounters requests;
  std::vector<prometheus::MetricFamily> families = MetricsOf(Snapshot());
  families.push_back(RequestMetrics(requests));
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : families) {
    EXPECT_TRUE(absl::StartsWith(family.name, "sluice_")) << family.name;
    EXPECT_NE(family.help, "") << family.name;
    EXPECT_EQ(absl::EndsWith(family.name, "_total"), family.type == prometheus::MetricType::Counter) << family.name;
    EXPECT_TRUE(names.insert(family.name).second) << family.name << " twice";
  }
}

TEST(MetricsTest, LabelsAreEscaped) {
  MetricsSnapshot snapshot = Snapshot();
  snapshot.dpdk_version = "a\"b\\c\nd";
  EXPECT_THAT(TextOf(MetricsOf(snapshot)), HasSubstr("dpdk=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(MetricsTest, RequestsByMethodAndCode) {
  RequestCounters requests;
  EXPECT_THAT(TextOf({RequestMetrics(requests)}), Not(HasSubstr("method=")));
  requests.Count(Method::kGetFlow, absl::StatusCode::kNotFound);
  requests.Count(Method::kGetFlow, absl::StatusCode::kNotFound);
  requests.Count(Method::kCreateFlow, absl::StatusCode::kOk);
  requests.Count(Method::kGetCapabilities, absl::StatusCode::kUnauthenticated);
  requests.Count(Method::kListPorts, static_cast<absl::StatusCode>(99));
  EXPECT_THAT(
      TextOf({RequestMetrics(requests)}),
      AllOf(HasSubstr("sluice_grpc_requests_total{method=\"sluice.v1.FlowService/GetFlow\",code=\"NOT_FOUND\"} 2\n"),
            HasSubstr("sluice_grpc_requests_total{method=\"sluice.v1.FlowService/CreateFlow\",code=\"OK\"} 1\n"),
            HasSubstr("{method=\"sluice.v1.SwitchService/GetCapabilities\",code=\"UNAUTHENTICATED\"} 1\n"),
            HasSubstr("{method=\"sluice.v1.PortService/ListPorts\",code=\"UNKNOWN\"} 1\n")));
}

}  // namespace
}  // namespace sluice
