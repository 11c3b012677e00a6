// sluiced's command line. Options override the configuration file.
//
// Once, from main.

#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config.h"
#include "server/exit_code.h"

namespace sluice {

struct Options {
  std::string config_file;  // empty: built-in defaults
  bool check_config = false;
  std::vector<std::string> listen;  // empty: as configured
  std::string metrics_listen;
  std::optional<LogLevel> log_level;
  std::optional<LogFormat> log_format;
};

// Options, or how to end: --help and --version have printed their text, an
// error its line.
std::variant<Options, ExitCode> ParseOptions(int argc, char** argv);

// The file, if there is one, with what the options override.
absl::StatusOr<ServerConfig> ConfigFor(const Options& options);

}  // namespace sluice
