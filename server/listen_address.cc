#include "server/listen_address.h"

#include <sys/un.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/quote.h"

namespace sluice {
namespace {

constexpr absl::string_view kUnix = "unix:";
constexpr size_t kMaxUnixPath = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr size_t kMaxHost = 255;

absl::Status Wrong(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is no address to listen on: ", why));
}

absl::StatusOr<ListenAddress> ParseUnix(absl::string_view text) {
  absl::string_view path = absl::StripPrefix(text, kUnix);
  // unix:///a and unix:/a are the same; a path with // in front is as good.
  if (absl::StartsWith(path, "//")) path.remove_prefix(2);
  if (path.empty() || path[0] != '/') return Wrong(text, "a UNIX socket is unix:// and an absolute path");
  if (path.size() > kMaxUnixPath)
    return Wrong(text, absl::StrCat("a UNIX socket's path has ", kMaxUnixPath, " bytes at most"));
  if (path.find('\0') != absl::string_view::npos || path.back() == '/') return Wrong(text, "the path names no file");
  ListenAddress address;
  address.unix_path = std::string(path);
  return address;
}

bool IsHost(absl::string_view host) {
  if (host.empty() || host.size() > kMaxHost) return false;
  for (char c : host) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != ':' && c != '%' && c != '_') return false;
  }
  return true;
}

}  // namespace

std::string ListenAddress::ToString() const {
  if (is_unix()) return absl::StrCat(kUnix, "//", unix_path);
  const bool v6 = absl::StrContains(host, ':');
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text) {
  if (absl::StartsWith(text, kUnix)) return ParseUnix(text);
  constexpr absl::string_view kForms = "unix:///run/x.sock, 127.0.0.1:9090 or [::1]:9090 would be right";
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Wrong(text, absl::StrCat("it has no port; ", kForms));
  absl::string_view host = text.substr(0, colon);
  const bool v6 = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (!IsHost(host) || v6 != absl::StrContains(host, ':')) return Wrong(text, kForms);
  uint32_t port = 0;
  const absl::string_view digits = text.substr(colon + 1);
  if (digits.empty() || !absl::ascii_isdigit(digits[0]) || !absl::SimpleAtoi(digits, &port) || port > 65535) {
    return Wrong(text, "the port is a number from 0 (any free one) to 65535");
  }
  ListenAddress address;
  address.host = std::string(host);
  address.port = static_cast<uint16_t>(port);
  return address;
}

}  // namespace sluice
