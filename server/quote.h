// Text of others inside our messages. Pure; any thread.

#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// In quotes, on one line, never long.
std::string Quoted(absl::string_view text);

// As it is, but for control characters, which are escaped: what comes from
// outside must not look like a line of its own.
std::string OneLine(absl::string_view text);

}  // namespace sluice
