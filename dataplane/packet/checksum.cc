#include "dataplane/packet/checksum.h"

#include <array>

#include "dataplane/packet/big_endian.h"

namespace sluice {
namespace {

// CRCs are polynomials over GF(2), the highest power in the lowest bit.
constexpr uint32_t kPolynomial = 0x82f63b78;
constexpr uint32_t kOne = 1u << 31;

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t power = kOne; power != 0; power >>= 1) {
    if ((a & power) != 0) product ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ kPolynomial : b >> 1;
  }
  return product;
}

// x to the power of 8 * 2^i: what 2^i zero bytes multiply a CRC with.
constexpr std::array<uint32_t, 32> kZeroBytes = [] {
  std::array<uint32_t, 32> powers{};
  uint32_t power = kOne >> 8;
  for (uint32_t& p : powers) {
    p = power;
    power = Multiply(power, power);
  }
  return powers;
}();

}  // namespace

uint16_t UpdateChecksum(uint16_t checksum, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t length) {
  // Equation 3 of RFC 1624, word by word: equation 2 can give 0xffff where 0 is right.
  uint32_t sum = static_cast<uint16_t>(~checksum);
  for (size_t i = 0; i < length; i += 2) {
    sum += static_cast<uint16_t>(~LoadRaw<uint16_t>(old_bytes + i));
    sum += LoadRaw<uint16_t>(new_bytes + i);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

uint32_t UpdateCrc32c(uint32_t crc, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t following) {
  // A CRC is linear: the two CRCs differ by the CRC (without its inversions) of
  // the difference with zeros behind it.
  uint32_t difference = LoadRaw<uint32_t>(old_bytes) ^ LoadRaw<uint32_t>(new_bytes);
  const size_t bytes = following + sizeof difference;
  for (size_t i = 0; bytes >> i != 0; ++i) {
    if ((bytes >> i & 1) != 0) difference = Multiply(difference, kZeroBytes[i]);
  }
  return crc ^ difference;
}

}  // namespace sluice
