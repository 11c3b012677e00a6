// What the commands of sluicectl share: where the switch is, how to print, and
// the exit codes.
//
// A command parses all its input before it asks the switch for anything, so that
// a typing error changes nothing. One thread.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/client.h"
#include "client/flow_text.h"

namespace CLI {
class App;
}

namespace sluice::client {

enum ExitCode {
  kOk = 0,
  kRequestFailed = 1,  // the switch refused, a replay went wrong, or lint found something
  kUsage = 2,          // command line or flow text
  kUnreachable = 3,    // no switch at the address
};

// In the environment: the address, if the command line has none.
inline constexpr char kAddressVariable[] = "SLUICE_ADDRESS";

enum class OutputFormat { kTable, kWide, kJson };

class Cli {
 public:
  std::string address = kDefaultAddress;
  OutputFormat format = OutputFormat::kTable;

  bool json() const { return format == OutputFormat::kJson; }
  bool wide() const { return format == OutputFormat::kWide; }

  // Connects at the first call.
  absl::StatusOr<Client*> client();

  // Say what went wrong and give the exit code for it: of a call, of input.
  int Fail(const absl::Status& status) const;
  int Misused(const absl::Status& status) const;
  // Of a file that could not be opened or written; INVALID_ARGUMENT: it should not be.
  int FailToWrite(const absl::Status& status) const;

  // The flow that an argument says; port names are looked up in the switch.
  // `number` counts the arguments from 1.
  absl::StatusOr<FlowText> ParseArgument(absl::string_view text, TextUse use, int number = 1);
  // For flows in files.
  std::function<std::optional<uint32_t>(absl::string_view)> PortNames();

 private:
  std::unique_ptr<Client> client_;
  std::unique_ptr<v1::ListPortsResponse> ports_;
  absl::Status lookup_status_;  // of the port names
};

// What the command line asks for; set by the chosen command.
using Action = std::function<int()>;

void AddFlowCommands(CLI::App& app, Cli& cli, Action& action);
// The two to the subcommand "flow".
void AddLintCommand(CLI::App& flow, Cli& cli, Action& action);
void AddWatchCommand(CLI::App& flow, Cli& cli, Action& action);
void AddPortCommands(CLI::App& app, Cli& cli, Action& action);
void AddGroupCommands(CLI::App& app, Cli& cli, Action& action);
void AddMeterCommands(CLI::App& app, Cli& cli, Action& action);
void AddTableCommands(CLI::App& app, Cli& cli, Action& action);
void AddMacCommands(CLI::App& app, Cli& cli, Action& action);
void AddPacketCommands(CLI::App& app, Cli& cli, Action& action);
void AddCaptureCommand(CLI::App& app, Cli& cli, Action& action);
void AddSwitchCommands(CLI::App& app, Cli& cli, Action& action);
void AddSettingsCommands(CLI::App& app, Cli& cli, Action& action);
void AddReplayCommand(CLI::App& app, Cli& cli, Action& action);
void AddTraceCommand(CLI::App& app, Cli& cli, Action& action);
void AddTopCommand(CLI::App& app, Cli& cli, Action& action);
void AddCompletionCommand(CLI::App& app, Action& action);

}  // namespace sluice::client
