// What a fuzzer is given, taken apart: numbers first, then the bytes that they
// are about. What is missing reads as zero, so that any bytes are an input.
//
// One thread.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "tests/support/packet_builder.h"

namespace sluice::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  uint8_t Byte() { return at_ == end_ ? 0 : *at_++; }
  uint16_t U16() { return static_cast<uint16_t>(Number(2)); }
  absl::uint128 Number(size_t bytes) {
    absl::uint128 number = 0;
    for (; bytes > 0; --bytes) number = number << 8 | Byte();
    return number;
  }
  Bytes RestAsBytes() { return Bytes(std::exchange(at_, end_), end_); }
  std::string RestAsText() { return std::string(std::exchange(at_, end_), end_); }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// What a fuzzer calls a finding.
[[noreturn]] inline void Fail(const std::string& what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

}  // namespace sluice::fuzz
