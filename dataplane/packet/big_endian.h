// Unsigned numbers of 1 to 8, or 16, bytes in network order, at any address.
// Pure; any thread.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/numeric/int128.h"

namespace sluice {

static_assert(std::endian::native == std::endian::little);

// The bytes as they lie, for copies and comparisons.
template <typename T>
inline T LoadRaw(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

inline uint16_t SwapBytes(uint16_t value) { return __builtin_bswap16(value); }
inline uint32_t SwapBytes(uint32_t value) { return __builtin_bswap32(value); }
inline uint64_t SwapBytes(uint64_t value) { return __builtin_bswap64(value); }

template <typename T>
inline T LoadBig(const uint8_t* bytes) {
  return SwapBytes(LoadRaw<T>(bytes));
}

template <typename T>
inline void StoreBig(uint8_t* bytes, T value) {
  value = SwapBytes(value);
  std::memcpy(bytes, &value, sizeof value);
}

// `size` is 1, 2, 4, 6, 8 or 16, the sizes that fields have.
inline absl::uint128 LoadBigSized(const uint8_t* bytes, size_t size) {
  switch (size) {
    case 1:
      return bytes[0];
    case 2:
      return LoadBig<uint16_t>(bytes);
    case 4:
      return LoadBig<uint32_t>(bytes);
    case 6:
      return uint64_t{LoadBig<uint16_t>(bytes)} << 32 | LoadBig<uint32_t>(bytes + 2);
    case 8:
      return LoadBig<uint64_t>(bytes);
    default:
      return absl::MakeUint128(LoadBig<uint64_t>(bytes), LoadBig<uint64_t>(bytes + 8));
  }
}

inline void StoreBigSized(uint8_t* bytes, size_t size, absl::uint128 value) {
  const uint64_t low = absl::Uint128Low64(value);
  switch (size) {
    case 1:
      bytes[0] = static_cast<uint8_t>(low);
      break;
    case 2:
      StoreBig(bytes, static_cast<uint16_t>(low));
      break;
    case 4:
      StoreBig(bytes, static_cast<uint32_t>(low));
      break;
    case 6:
      StoreBig(bytes, static_cast<uint16_t>(low >> 32));
      StoreBig(bytes + 2, static_cast<uint32_t>(low));
      break;
    case 8:
      StoreBig(bytes, low);
      break;
    default:
      StoreBig(bytes, absl::Uint128High64(value));
      StoreBig(bytes + 8, low);
      break;
  }
}

}  // namespace sluice
