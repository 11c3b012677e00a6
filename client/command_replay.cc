// sluicectl replay: what would these flows do with these captures?

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "client/bulk_load.h"
#include "client/cli.h"
#include "client/daemon.h"
#include "client/port_table.h"
#include "client/replay.h"
#include "client/settings.h"

namespace sluice::client {
namespace {

constexpr uint32_t kDefaultPorts = 4;

volatile sig_atomic_t interrupted = 0;

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

struct ReplayArguments {
  std::string flows;
  std::string groups;
  std::string meters;
  std::vector<std::string> inputs;
  uint32_t ports = 0;
  std::string out_dir;
  uint32_t rx_burst = 0;
  std::vector<std::string> settings;
};

// What is played, and so which ports there are.
absl::Status ReadInputs(const ReplayArguments& arguments, ReplayOptions& options) {
  uint32_t highest = 0;
  for (const std::string& text : arguments.inputs) {
    const absl::StatusOr<ReplayInput> input = ParseReplayInput(text);
    if (!input.ok()) return input.status();
    options.inputs.push_back(*input);
    highest = std::max(highest, input->port);
  }
  if (arguments.ports != 0 && arguments.ports < highest) {
    return absl::InvalidArgumentError(absl::StrCat("replay: --ports is ", arguments.ports, ", and --in names port ",
                                                   highest, "; expected --ports ", highest, " or more, or none"));
  }
  options.ports = std::max(arguments.ports != 0 ? arguments.ports : kDefaultPorts, highest);
  return absl::OkStatus();
}

// The specs of a file, one a line; no path: none.
template <typename Spec, typename Parse>
absl::Status ReadSpecs(const std::string& path, Parse parse, std::vector<Spec>& out) {
  if (path.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  return ForEachFlowLine(*text, [&](absl::string_view line, int number) -> absl::Status {
    absl::StatusOr<Spec> spec = parse(line, TextOptions{.source = path, .line = number});
    if (spec.ok()) out.push_back(*std::move(spec));
    return spec.status();
  });
}

int Run(Cli& cli, const ReplayArguments& arguments) {
  ReplayOptions options;
  options.out_dir = arguments.out_dir;
  options.rx_burst = arguments.rx_burst;
  options.interrupted = [] { return interrupted != 0; };
  const absl::StatusOr<v1::UpdateSettingsRequest> settings = ParseSettings("replay: --set", arguments.settings);
  if (!settings.ok()) return cli.Misused(settings.status());
  options.settings = *settings;
  if (absl::Status status = ReadInputs(arguments, options); !status.ok()) return cli.Misused(status);
  absl::Status read = ReadSpecs(arguments.groups, ParseGroup, options.groups);
  if (read.ok()) read = ReadSpecs(arguments.meters, ParseMeter, options.meters);
  if (!read.ok()) return cli.Misused(read);
  const absl::StatusOr<std::string> text = ReadText(arguments.flows);
  if (!text.ok()) return cli.Misused(text.status());
  BulkLoad flows(arguments.flows == "-" ? "standard input" : arguments.flows, *text, {});
  if (absl::Status status = flows.Check(); !status.ok()) return cli.Misused(status);
  const absl::StatusOr<std::string> daemon = FindDaemon();
  if (!daemon.ok()) return cli.Fail(daemon.status());
  options.daemon = *daemon;
  CatchInterrupts();
  const absl::StatusOr<ReplayResult> result = Replay(options, flows);
  if (!result.ok()) {
    std::cerr << "sluicectl: replay: " << result.status().message() << "\n";
    return kRequestFailed;
  }
  if (cli.json()) {
    std::cout << ReplayJson(*result);
  } else {
    const v1::PacketTotals& totals = result->totals;
    std::cout << totals.received() << " frames received, " << totals.forwarded()
              << " forwarded, dropped: " << FormatReasons(totals.drops()) << "\nsee " << arguments.out_dir
              << "/flows.json and port-<n>.pcap beside it\n";
  }
  return kOk;
}

}  // namespace

void AddReplayCommand(CLI::App& app, Cli& cli, Action& action) {
  const auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* replay = app.add_subcommand("replay",
                                        "Play captures through a switch of its own, to see what flows do with them; "
                                        "needs neither root nor a running switch");
  replay->add_option("--flows", arguments->flows, "The flows, as for flow add-file")->required()->type_name("FILE");
  replay->add_option("--groups", arguments->groups, "The groups, as for group add-file")->type_name("FILE");
  replay->add_option("--meters", arguments->meters, "The meters, as for meter add-file")->type_name("FILE");
  replay
      ->add_option("--in", arguments->inputs,
                   "A capture (pcap or pcapng, Ethernet) and the port that receives it; played in this order")
      ->required()
      ->type_name("PORT=CAPTURE")
      ->expected(1)
      ->take_all();
  replay->add_option("--ports", arguments->ports, "Ports 1 to this; 4, or the highest of --in, if not given")
      ->check(CLI::Range(1, 32));
  replay->add_option("--out-dir", arguments->out_dir, "Gets flows.json, and port-<n>.pcap with what left each port")
      ->required()
      ->type_name("DIR");
  replay
      ->add_option("--rx-burst", arguments->rx_burst,
                   "Frames taken from a port at a time; the switch's default if not given")
      ->check(CLI::Range(1, 32));
  replay->add_option("--set", arguments->settings, "How packets are looked up, as for settings set")
      ->type_name(SettingForms())
      ->expected(1)
      ->take_all();
  replay->callback([&action, &cli, arguments] { action = [&cli, arguments] { return Run(cli, *arguments); }; });
}

}  // namespace sluice::client
