// sluicectl info and stats.

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli.h"
#include "client/output.h"
#include "client/port_table.h"

namespace sluice::client {
namespace {

void PrintTotals(const v1::PacketTotals& totals) {
  uint64_t dropped = 0;
  for (const auto& [reason, count] : totals.drops()) dropped += count;
  std::cout << "received   " << totals.received() << "\nforwarded  " << totals.forwarded() << "\ndropped    "
            << dropped;
  if (dropped > 0) std::cout << " (" << FormatReasons(totals.drops()) << ")";
  std::cout << "\nmalformed  " << totals.malformed() << "\n";
}

// Of packets looked up; "-" if there were none, or there is no cache.
std::string CacheHits(const v1::Worker& worker) {
  const auto hits = static_cast<double>(worker.flow_cache_hits());
  const double all = hits + static_cast<double>(worker.flow_cache_misses());
  return all > 0 ? absl::StrFormat("%.1f %%", 100 * hits / all) : "-";
}

void PrintWorkers(const v1::GetSwitchResponse& info, bool wide) {
  std::vector<std::string> header = {"WORKER", "CPU", "NUMA", "RX-QUEUES", "BUSY", "SLEEPS"};
  if (wide) header.insert(header.end(), {"CACHE-HITS", "CACHE-MISSES", "CACHE-EVICTIONS", "CACHE-RATIO"});
  TableText table(header);
  for (const v1::Worker& worker : info.workers()) {
    const auto busy = static_cast<double>(worker.busy_cycles());
    const double all = busy + static_cast<double>(worker.idle_cycles());
    std::vector<std::string> row = {absl::StrCat(worker.id()),
                                    absl::StrCat(worker.cpu()),
                                    worker.numa_node() < 0 ? "-" : absl::StrCat(worker.numa_node()),
                                    absl::StrCat(worker.rx_queues()),
                                    absl::StrFormat("%.1f %%", all > 0 ? 100 * busy / all : 0),
                                    absl::StrCat(worker.sleeps())};
    if (wide) {
      row.insert(row.end(), {absl::StrCat(worker.flow_cache_hits()), absl::StrCat(worker.flow_cache_misses()),
                             absl::StrCat(worker.flow_cache_evictions()), CacheHits(worker)});
    }
    table.Add(std::move(row));
  }
  table.Print(std::cout);
}

int Info(Cli& cli) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::GetSwitchResponse> info = (*client)->GetSwitch();
  if (!info.ok()) return cli.Fail(info.status());
  if (cli.json()) {
    std::cout << ToJson(*info) << "\n";
    return kOk;
  }
  const absl::Time start = absl::FromUnixSeconds(info->start_time().seconds());
  std::cout << "sluice " << info->version() << " with " << info->dpdk_version() << " at " << cli.address << "\n"
            << "boot id    " << info->boot_id() << "\n"
            << "started    " << absl::FormatTime(absl::RFC3339_sec, start, absl::UTCTimeZone()) << ", "
            << absl::FormatDuration(absl::Trunc(absl::Now() - start, absl::Seconds(1))) << " ago\n"
            << "memory     " << (info->huge_pages() ? "huge pages" : "no huge pages") << "\n"
            << absl::StrFormat("clock      %.3f GHz\n", static_cast<double>(info->tsc_hz()) / 1e9);
  PrintTotals(info->totals());
  std::cout << "\n";
  PrintWorkers(*info, cli.wide());
  return kOk;
}

int Stats(Cli& cli) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::GetSwitchResponse> info = (*client)->GetSwitch();
  if (!info.ok()) return cli.Fail(info.status());
  const absl::StatusOr<v1::ListPortsResponse> ports = (*client)->ListPorts();
  if (!ports.ok()) return cli.Fail(ports.status());
  if (cli.json()) {
    std::cout << "{\"totals\": " << ToJson(info->totals()) << ", \"ports\": ";
    JsonList list(std::cout);
    list.Begin();
    for (const v1::Port& port : ports->ports()) {
      list.Add(JsonObject({{"name", JsonString(port.spec().name())},
                           {"number", absl::StrCat(port.spec().number())},
                           {"stats", ToJson(port.stats())}}));
    }
    list.End();
    std::cout << "}\n";
    return kOk;
  }
  PrintTotals(info->totals());
  std::cout << "\n";
  PrintPorts(*ports, cli.wide());
  return kOk;
}

}  // namespace

void AddSwitchCommands(CLI::App& app, Cli& cli, Action& action) {
  app.add_subcommand("info", "Show version, start, workers and packet totals")->callback([&] {
    action = [&cli] { return Info(cli); };
  });
  app.add_subcommand("stats", "Show packet totals, drops and port counters")->callback([&] {
    action = [&cli] { return Stats(cli); };
  });
}

}  // namespace sluice::client
