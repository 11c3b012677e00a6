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

// The longest frame that can be replayed: what fits into one packet buffer.
// (DPDK's capture port writes no more than 16,128 bytes of a chain of buffers.)
inline constexpr uint32_t kMaxFrameBytes = 65407;

struct CaptureInfo {
  uint64_t frames = 0;
  uint32_t longest = 0;  // bytes of its longest frame
};

// Reads the whole file. Errors begin with the path.
absl::StatusOr<CaptureInfo> ReadCapture(const std::string& path);

// Its frames, in order.
absl::StatusOr<std::vector<std::string>> ReadCaptureFrames(const std::string& path);

// Writes the frames of several captures of Ethernet, in order, into one pcap
// file; of none, an empty one.
absl::Status JoinCaptures(const std::vector<std::string>& parts, const std::string& out);

}  // namespace sluice::client
