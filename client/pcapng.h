// Writes pcapng (draft-ietf-opsawg-pcapng): captured Ethernet frames with the
// interface that saw each, its direction and what was noted about it. libpcap
// reads this format and writes only the one before it, which has none of that.
//
// Blocks are appended to a string, in the byte order of the machine, which the
// first block tells. One section; times in nanoseconds. One thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice::client {

class PcapngWriter {
 public:
  enum class Direction : uint32_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };

  struct Packet {
    uint32_t interface = 0;    // as AddInterface gave it
    int64_t time_unix_ns = 0;  // from 1970 on
    uint32_t length = 0;       // of the whole frame, in bytes
    absl::string_view data{};  // its first bytes, or all
    Direction direction = Direction::kUnknown;
    absl::string_view comment{};  // empty: none
  };

  // Frames are cut to snap_length bytes by whoever captures them; 0: not at all.
  PcapngWriter(absl::string_view application, uint32_t snap_length);

  // Returns its number: 0, 1, ...
  uint32_t AddInterface(absl::string_view name);
  void AddPacket(const Packet& packet);
  // What was counted of an interface up to a time: its packets that were written, and a comment.
  void AddStatistics(uint32_t interface, int64_t time_unix_ns, uint64_t written, absl::string_view comment);

  // What was added since the last time.
  std::string Take();

 private:
  void Begin(uint32_t type);
  void Put(uint16_t value);
  void Put(uint32_t value);
  void PutTime(int64_t time_unix_ns);
  void PutOption(uint16_t code, absl::string_view value);
  // Pads to 32 bits.
  void PutBytes(absl::string_view bytes);
  void End();

  const uint32_t snap_length_;
  uint32_t interfaces_ = 0;
  std::string out_;
  size_t begin_ = 0;  // of the block in hand, in out_
};

}  // namespace sluice::client
