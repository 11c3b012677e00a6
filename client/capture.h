// Capture files: pcap and pcapng, as libpcap reads them. Only Ethernet can be
// replayed; other link types are refused by name, and so are files that end in
// the middle of a frame.
//
// One thread a file.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice::client {

// The longest frame that can be replayed.
inline constexpr uint32_t kMaxFrameBytes = 65535;

// Reads the whole file and counts its frames. Errors begin with the path.
absl::StatusOr<uint64_t> CountFrames(const std::string& path);

// Writes the frames of several captures of Ethernet, in order, into one pcap
// file; of none, an empty one.
absl::Status JoinCaptures(const std::vector<std::string>& parts, const std::string& out);

}  // namespace sluice::client
