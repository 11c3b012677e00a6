// Where the daemon listens: "unix:///run/x.sock", "127.0.0.1:9090",
// "[::1]:9090", "localhost:9090". Pure; any thread.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

struct ListenAddress {
  std::string unix_path;  // empty: TCP
  std::string host;
  uint16_t port = 0;  // 0: any free one

  bool is_unix() const { return !unix_path.empty(); }
  // As it was written.
  std::string ToString() const;
};

// INVALID_ARGUMENT says what would be right.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

}  // namespace sluice
