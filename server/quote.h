// Text of others inside our messages: in quotes, on one line, never long.
// Pure; any thread.

#pragma once

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sluice {

inline std::string Quoted(absl::string_view text) {
  constexpr size_t kMost = 60;
  const absl::string_view head(text.data(), std::min(text.size(), kMost));
  return absl::StrCat("\"", absl::CHexEscape(head), text.size() > kMost ? "..." : "", "\"");
}

}  // namespace sluice
