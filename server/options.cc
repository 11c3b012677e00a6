#include "server/options.h"

#include <cstdio>
#include <map>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "server/listen_address.h"
#include "server/switch_api.h"

namespace sluice {
namespace {

std::string CheckAddress(const std::string& text) { return std::string(ParseListenAddress(text).status().message()); }

std::string CheckMetrics(const std::string& text) { return std::string(CheckMetricsAddress(text).message()); }

const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                 {"info", LogLevel::kInfo},
                                                 {"warning", LogLevel::kWarning},
                                                 {"error", LogLevel::kError}};
const std::map<std::string, LogFormat> kFormats = {{"text", LogFormat::kText}, {"json", LogFormat::kJson}};

template <typename T>
std::optional<T> Chosen(const std::map<std::string, T>& choices, const std::string& name) {
  const auto found = choices.find(name);
  return found == choices.end() ? std::nullopt : std::optional<T>(found->second);
}

}  // namespace

std::variant<Options, ExitCode> ParseOptions(int argc, char** argv) {
  Options options;
  std::string level;
  std::string format;
  CLI::App app("sluiced, a software switch that is managed over gRPC", "sluiced");
  app.set_version_flag("--version", absl::StrCat("sluiced ", NewSwitchIdentity().version));
  CLI::Option* config =
      app.add_option("--config", options.config_file, "The configuration, a YAML file")->type_name("FILE");
  app.add_flag("--check-config", options.check_config, "Check the configuration and end")->needs(config);
  app.add_option("--listen", options.listen, "Where the API listens: unix:///path or HOST:PORT; may be repeated")
      ->type_name("ADDRESS")
      ->allow_extra_args(false)
      ->check(CLI::Validator(CheckAddress, ""));
  app.add_option("--metrics-listen", options.metrics_listen, "Where /metrics listens: HOST:PORT")
      ->type_name("ADDRESS")
      ->check(CLI::Validator(CheckMetrics, ""));
  app.add_option("--log-level", level, "debug, info, warning or error")->check(CLI::IsMember(&kLevels));
  app.add_option("--log-format", format, "text or json")->check(CLI::IsMember(&kFormats));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    app.exit(e);
    return ExitCode::kOk;
  } catch (const CLI::Error& e) {
    std::fprintf(stderr, "sluiced: %s; --help lists the options\n", e.what());
    return ExitCode::kCommandLine;
  }
  options.log_level = Chosen(kLevels, level);
  options.log_format = Chosen(kFormats, format);
  return options;
}

absl::StatusOr<ServerConfig> ConfigFor(const Options& options) {
  ServerConfig config;
  if (!options.config_file.empty()) {
    absl::StatusOr<ServerConfig> loaded = LoadConfig(options.config_file);
    if (!loaded.ok()) return loaded.status();
    config = *std::move(loaded);
  }
  if (!options.listen.empty()) config.api_listen = options.listen;
  if (!options.metrics_listen.empty()) config.metrics_listen = options.metrics_listen;
  config.log_level = options.log_level.value_or(config.log_level);
  config.log_format = options.log_format.value_or(config.log_format);
  return config;
}

}  // namespace sluice
