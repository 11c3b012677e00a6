// A frame under test with its layout, and what may be done with it.

#pragma once

#include <gtest/gtest.h>

#include <string>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/rewrite.h"
#include "tests/support/heap_frame.h"

namespace sluice {

inline constexpr uint32_t kHeadroom = 16;

inline absl::uint128 Ones(int bits) { return absl::Uint128Max() >> (128 - bits); }

inline absl::uint128 Number(const Bytes& bytes) {
  absl::uint128 number = 0;
  for (uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

class Subject {
 public:
  explicit Subject(const Bytes& bytes, uint32_t headroom = kHeadroom)
      : Subject(bytes, headroom, static_cast<uint32_t>(bytes.size())) {}
  Subject(const Bytes& bytes, uint32_t headroom, uint32_t length) : frame_(bytes, headroom, length) {
    PacketKey key;
    EXPECT_NE(Parse(frame_.frame(), 1, key, layout_), ParseResult::kNeedMore);
  }

  Subject& Set(Field field, absl::uint128 value) { return Set(field, value, absl::Uint128Max()); }
  Subject& Set(Field field, absl::uint128 value, absl::uint128 mask) {
    SetField(frame_.frame(), layout_, field, value, mask);
    return *this;
  }
  Subject& Push(uint16_t tpid = 0x8100) {
    EXPECT_TRUE(PushVlan(frame_.frame(), layout_, tpid));
    return *this;
  }
  Subject& Pop() {
    PopVlan(frame_.frame(), layout_);
    return *this;
  }
  Subject& PushLabel(uint16_t eth_type = 0x8847) {
    EXPECT_TRUE(PushMpls(frame_.frame(), layout_, eth_type));
    return *this;
  }
  Subject& PopLabel(uint16_t eth_type) {
    PopMpls(frame_.frame(), layout_, eth_type);
    return *this;
  }
  bool DecMplsTtl() { return DecrementMplsTtl(frame_.frame(), layout_); }
  bool DecTtl() { return DecrementTtl(frame_.frame(), layout_); }

  Bytes bytes() const { return frame_.bytes(); }
  std::string hex() const { return ToHex(frame_.bytes()); }
  HeaderLayout& layout() { return layout_; }
  Frame& frame() { return frame_.frame(); }

 private:
  HeapFrame frame_;
  HeaderLayout layout_;
};

}  // namespace sluice
