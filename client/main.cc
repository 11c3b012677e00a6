// sluicectl: reads the command line and runs the one command that it names.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <map>

#include "client/cli.h"
#include "client/complete.h"

namespace {

constexpr char kFooter[] =
    "Flows are written as for ovs-ofctl(8).\n"
    "Exit codes: 0 done, 1 the switch refused, a replay failed or lint found something, 2 wrong command line or flow "
    "text, 3 no switch "
    "there.";

}  // namespace

int main(int argc, char** argv) {
  sluice::client::Cli cli;
  sluice::client::Action action;
  CLI::App app("Controls a Sluice switch.", "sluicectl");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--address", cli.address, "Where the switch listens: unix:///PATH or HOST:PORT")
      ->envname(sluice::client::kAddressVariable)
      ->capture_default_str();
  using Format = sluice::client::OutputFormat;
  const std::map<std::string, Format> formats = {
      {"table", Format::kTable}, {"wide", Format::kWide}, {"json", Format::kJson}};
  std::string format = "table";
  app.add_option("-o,--output", format, "table, wide or json")
      ->check(CLI::IsMember({"table", "wide", "json"}))
      ->capture_default_str();
  sluice::client::AddSwitchCommands(app, cli, action);
  sluice::client::AddFlowCommands(app, cli, action);
  sluice::client::AddPortCommands(app, cli, action);
  sluice::client::AddTableCommands(app, cli, action);
  sluice::client::AddGroupCommands(app, cli, action);
  sluice::client::AddMeterCommands(app, cli, action);
  sluice::client::AddMacCommands(app, cli, action);
  sluice::client::AddPacketCommands(app, cli, action);
  sluice::client::AddCaptureCommand(app, cli, action);
  sluice::client::AddSettingsCommands(app, cli, action);
  sluice::client::AddReplayCommand(app, cli, action);
  sluice::client::AddTraceCommand(app, cli, action);
  sluice::client::AddTopCommand(app, cli, action);
  sluice::client::AddCompletionCommand(app, action);
  if (argc > 1 && argv[1] == std::string_view(sluice::client::kCompleteCommand)) {
    PrintCompletions(app, cli, {argv + 2, argv + argc}, std::cout);
    return sluice::client::kOk;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help
    return app.exit(asked);
  } catch (const CLI::Error& error) {
    app.exit(error);
    return sluice::client::kUsage;
  }
  cli.format = formats.at(format);
  const int code = action();
  // A full disk must not pass for a backup.
  if (!std::cout.flush()) {
    std::cerr << "sluicectl: the output could not be written: " << std::strerror(errno) << "\n";
    return code == sluice::client::kOk ? sluice::client::kRequestFailed : code;
  }
  return code;
}
