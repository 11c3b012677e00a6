// Checksums after a change, from the change alone: the Internet checksum
// (RFC 1624) and SCTP's CRC-32c (RFC 9260).
//
// Nothing here reads a packet's payload. So a change costs the same whatever
// the packet's size, bytes that lie in other segments need not be at hand, and
// a checksum that was wrong stays wrong by the same difference: a switch must
// not turn a damaged packet into a valid one.
//
// Pure; any thread.

#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// The checksum (as it lies in memory) after bytes old_bytes became new_bytes.
// `length` is even and the bytes start at an even offset of what is summed.
uint16_t UpdateChecksum(uint16_t checksum, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t length);

// The CRC-32c (as it lies in memory in an SCTP header) after the four bytes
// old_bytes, with `following` bytes of the packet behind them, became new_bytes.
uint32_t UpdateCrc32c(uint32_t crc, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t following);

}  // namespace sluice
