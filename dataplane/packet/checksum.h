// The Internet checksum (RFC 1071), whole and incremental (RFC 1624), and
// SCTP's CRC-32c (RFC 9260). Pure; any thread.

#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// The folded, not yet complemented sum of the bytes as 16-bit big-endian words,
// in network order as it would lie in memory; `initial` is such a sum.
uint16_t SumBytes(const uint8_t* data, size_t length, uint16_t initial = 0);

// RFC 1624, equation 3: the checksum after bytes old_bytes became new_bytes.
// `length` is even and the bytes start at an even offset of what is summed;
// checksum is as it lies in memory.
uint16_t UpdateChecksum(uint16_t checksum, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t length);

// CRC-32c as SCTP uses it, as it lies in memory at the header's checksum field.
uint32_t Crc32c(const uint8_t* data, size_t length, uint32_t initial = 0);

}  // namespace sluice
