// sluicectl top: what the switch does, a second, again and again.

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/cli.h"
#include "client/top.h"

namespace sluice::client {
namespace {

// What the command's options are read into.
struct TopArguments {
  uint64_t count = 0;
  double interval = 1;
  std::string sort = "packets";
  uint32_t flows = 10;
};

absl::StatusOr<TopReading> Read(Client& client, bool with_flows, FlowDeltas& flows) {
  TopReading reading;
  absl::StatusOr<v1::GetSwitchResponse> info = client.GetSwitch();
  if (!info.ok()) return info.status();
  absl::StatusOr<v1::ListPortsResponse> ports = client.ListPorts();
  if (!ports.ok()) return ports.status();
  reading.time = absl::Now();
  reading.info = *std::move(info);
  reading.ports = *std::move(ports);
  if (!with_flows) return reading;
  const absl::Status status = client.VisitFlows({}, [&](const v1::Flow& flow) {
    flows.Add(flow);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return reading;
}

// Over the frame before, each line cut at the edge: a terminal would go on in the
// next one.
void PrintOver(const std::string& text) {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  std::cout << "\x1b[H";
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::cout << (known ? line.substr(0, size.ws_col) : line) << "\x1b[K\n";
  }
  std::cout << "\x1b[J" << std::flush;
}

void Print(const Cli& cli, const TopFrame& frame, bool first) {
  if (cli.json()) {
    std::cout << TopJson(frame) << std::endl;
  } else if (isatty(STDOUT_FILENO) != 0) {
    if (first) std::cout << "\x1b[2J";
    PrintOver(TopText(frame, cli.address));
  } else {
    std::cout << (first ? "" : "\n") << TopText(frame, cli.address) << std::flush;
  }
}

int Top(Cli& cli, const TopArguments& arguments) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  FlowDeltas deltas(arguments.flows, arguments.sort == "bytes" ? FlowDeltas::By::kBytes : FlowDeltas::By::kPackets);
  absl::StatusOr<TopReading> before = Read(**client, arguments.flows > 0, deltas);
  deltas.Finish();
  for (uint64_t i = 0; before.ok() && (arguments.count == 0 || i < arguments.count); ++i) {
    absl::SleepFor(before->time + absl::Seconds(arguments.interval) - absl::Now());
    absl::StatusOr<TopReading> now = Read(**client, arguments.flows > 0, deltas);
    if (!now.ok()) return cli.Fail(now.status());
    const std::vector<FlowDelta> flows = deltas.Finish();
    Print(cli, {*before, *now, flows}, i == 0);
    before = std::move(now);
  }
  return before.ok() ? int{kOk} : cli.Fail(before.status());
}

}  // namespace

void AddTopCommand(CLI::App& app, Cli& cli, Action& action) {
  const auto arguments = std::make_shared<TopArguments>();
  CLI::App* top = app.add_subcommand("top", "Show what ports, workers and the busiest flows do a second, until Ctrl-C");
  top->add_option("--count", arguments->count, "End after so many frames");
  top->add_option("--interval", arguments->interval, "Seconds from frame to frame")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  top->add_option("--sort", arguments->sort, "What makes a flow busy")
      ->check(CLI::IsMember({"packets", "bytes"}))
      ->capture_default_str();
  top->add_option("--flows", arguments->flows, "How many flows; 0 reads none, which is kind to a switch with very many")
      ->capture_default_str();
  top->callback([&action, &cli, arguments] { action = [&cli, arguments] { return Top(cli, *arguments); }; });
}

}  // namespace sluice::client
