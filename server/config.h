// The daemon's configuration file: YAML in, ServerConfig out.
//
// Every key is optional and has the default that stands here. What is unknown,
// of the wrong type or out of range is refused as INVALID_ARGUMENT with the text
// "FILE:LINE:COL: what is wrong; what would be right". Device arguments are
// checked too, as far as that goes without EAL. Any bytes may come in.
//
// Pure but for LoadConfig, which reads the file; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/dataplane.h"
#include "dataplane/port/port_config.h"
#include "server/convert.h"

namespace sluice {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

inline constexpr absl::string_view kDefaultListen = "unix:///run/sluice/sluice.sock";

struct ServerConfig {
  std::vector<std::string> api_listen = {std::string(kDefaultListen)};
  std::string metrics_listen;  // empty: no metrics
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  DataplaneConfig dataplane;
  ApiLimits limits;
  std::vector<PortConfig> ports;
};

// `file` is what messages call the text.
absl::StatusOr<ServerConfig> ParseConfig(const std::string& text, const std::string& file);
absl::StatusOr<ServerConfig> LoadConfig(const std::string& path);

// For both metrics.listen and --metrics-listen: TCP only.
absl::Status CheckMetricsAddress(absl::string_view address);

}  // namespace sluice
