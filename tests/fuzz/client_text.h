// What the fuzzers of the client's texts share: ports that have names, and what
// every text promises of its errors.

#pragma once

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "tests/fuzz/input.h"

namespace sluice::fuzz {

inline std::optional<uint32_t> PortNamed(absl::string_view name) {
  if (name == "p1") return 1;
  if (name == "uplink") return 65279;
  return std::nullopt;
}

// "SOURCE:LINE:COLUMN: what", the column within the text or just behind it; one
// line that a terminal may show.
inline void CheckError(const std::string& text, const absl::Status& status) {
  const std::string message(status.message());
  int column = 0, end = 0;
  const int read = std::sscanf(message.c_str(), "flow:1:%d: %n", &column, &end);
  const bool placed = read == 1 && column >= 1 && column <= static_cast<int>(text.size()) + 1;
  const bool says = static_cast<size_t>(end) < message.size();
  const bool shown = std::none_of(message.begin(), message.end(), absl::ascii_iscntrl);
  if (!absl::IsInvalidArgument(status) || !placed || !says || !shown) Fail("an error that helps nobody: " + message);
}

}  // namespace sluice::fuzz
