#include "server/quote.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice {

std::string Quoted(absl::string_view text) {
  constexpr size_t kMost = 60;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kMost)), text.size() > kMost ? "..." : "", "\"");
}

std::string OneLine(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace sluice
