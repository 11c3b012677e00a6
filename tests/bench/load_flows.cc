// Adds the flows of a file over gRPC as fast as the switch takes them, and says how fast that was:
//
//   load_flows ADDRESS FLOWS
//
// ADDRESS is the switch's, FLOWS a file in ovs-ofctl's syntax. The messages are made
// beforehand, since it is the switch that is measured; they go in BatchWrites of
// 2,000 over one channel, four under way at a time. Prints a JSON line.

#include <cstdio>

#include "absl/time/clock.h"
#include "client/client.h"
#include "tests/bench/flow_file.h"

namespace sluice::client {
namespace {

int Run(const std::string& address, const std::string& path) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(address);
  if (!client.ok()) return Fail("load_flows", client.status());
  absl::StatusOr<std::vector<v1::FlowSpec>> flows = ReadFlows(path);
  if (!flows.ok()) return Fail("load_flows", flows.status());
  std::vector<v1::BatchItem> items(flows->size());
  for (size_t i = 0; i < items.size(); ++i) *items[i].mutable_create()->mutable_flow() = std::move((*flows)[i]);
  FlowWriter writer(**client, {.calls_in_flight = 4});
  const absl::Time start = absl::Now();
  for (v1::BatchItem& item : items) {
    if (absl::Status status = writer.Add(std::move(item)); !status.ok()) return Fail("load_flows", status);
  }
  if (absl::Status status = writer.Finish(); !status.ok()) return Fail("load_flows", status);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  std::printf("{\"flows\": %zu, \"failed\": %llu, \"seconds\": %.2f, \"flows_per_second\": %.0f}\n", items.size(),
              static_cast<unsigned long long>(writer.failed()), seconds, static_cast<double>(items.size()) / seconds);
  return 0;
}

}  // namespace
}  // namespace sluice::client

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "load_flows ADDRESS FLOWS\n");
    return 2;
  }
  return sluice::client::Run(argv[1], argv[2]);
}
