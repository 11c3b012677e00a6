// Deletes flows of a file and adds them again, over gRPC, at a steady rate, for
// as long as it runs:
//
//   change_flows ADDRESS FLOWS RATE SECONDS
//
// ADDRESS is the switch's, FLOWS a file in ovs-ofctl's syntax whose flows it has,
// RATE counts changes a second. They go in BatchWrites of 100: the first half
// deletes, the second adds the same flows. Prints a JSON line.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "tests/bench/flow_file.h"

namespace sluice::client {
namespace {

constexpr size_t kFlowsAtOnce = 50;

v1::BatchWriteRequest Batch(const std::vector<v1::FlowSpec>& flows, size_t first) {
  v1::BatchWriteRequest request;
  const size_t end = std::min(flows.size(), first + kFlowsAtOnce);
  for (size_t i = first; i < end; ++i) {
    v1::FlowIdentity* identity = request.add_items()->mutable_delete_()->mutable_key()->mutable_identity();
    identity->set_table_id(flows[i].table_id());
    identity->set_priority(flows[i].priority());
    *identity->mutable_match() = flows[i].match();
  }
  for (size_t i = first; i < end; ++i) *request.add_items()->mutable_create()->mutable_flow() = flows[i];
  return request;
}

int Run(const std::string& address, const std::string& path, double rate, double seconds) {
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(address);
  if (!client.ok()) return Fail("change_flows", client.status());
  const absl::StatusOr<std::vector<v1::FlowSpec>> flows = ReadFlows(path);
  if (!flows.ok()) return Fail("change_flows", flows.status());
  std::vector<absl::Duration> latencies;
  uint64_t changes = 0;
  uint64_t failed = 0;
  size_t first = 0;
  const absl::Time start = absl::Now();
  const absl::Time end = start + absl::Seconds(seconds);
  while (absl::Now() < end) {
    absl::SleepFor(start + absl::Seconds(static_cast<double>(changes) / rate) - absl::Now());
    const v1::BatchWriteRequest request = Batch(*flows, first);
    const absl::Time sent = absl::Now();
    const absl::StatusOr<v1::BatchWriteResponse> response = (*client)->BatchWrite(request);
    if (!response.ok()) return Fail("change_flows", response.status());
    latencies.push_back(absl::Now() - sent);
    for (const v1::BatchItemResult& result : response->results()) failed += result.has_error();
    changes += static_cast<uint64_t>(request.items_size());
    first = first + kFlowsAtOnce < flows->size() ? first + kFlowsAtOnce : 0;
  }
  const double elapsed = absl::ToDoubleSeconds(absl::Now() - start);
  std::ranges::sort(latencies);
  std::printf("{\"changes_per_second\": %.0f, \"failed\": %llu, \"batch_p50_ms\": %.2f, \"batch_p99_ms\": %.2f}\n",
              static_cast<double>(changes) / elapsed, static_cast<unsigned long long>(failed),
              absl::ToDoubleMilliseconds(latencies[latencies.size() / 2]),
              absl::ToDoubleMilliseconds(latencies[latencies.size() * 99 / 100]));
  return 0;
}

}  // namespace
}  // namespace sluice::client

int main(int argc, char** argv) {
  double rate = 0;
  double seconds = 0;
  if (argc != 5 || !absl::SimpleAtod(argv[3], &rate) || !absl::SimpleAtod(argv[4], &seconds) || rate <= 0) {
    std::fprintf(stderr, "change_flows ADDRESS FLOWS RATE SECONDS\n");
    return 2;
  }
  return sluice::client::Run(argv[1], argv[2], rate, seconds);
}
