// The daemon's log: spdlog to stderr, a line an event, as text or as JSON
// objects {"time", "level", "message"}. Once at start, before other threads.

#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/config.h"
#include "spdlog/formatter.h"

namespace sluice {

void StartLogging(LogLevel level, LogFormat format);

// One line an event, whatever is in its text: for the log itself, and tests.
std::unique_ptr<spdlog::formatter> NewLogFormatter(LogFormat format);

// Text inside a JSON string: quotes, control characters, and bytes that are no
// UTF-8 (as U+FFFD).
std::string EscapeJson(absl::string_view text);

}  // namespace sluice
