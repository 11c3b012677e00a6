#include "dataplane/packet/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/packet_builder.h"
#include "tests/support/random_packet.h"

namespace sluice {
namespace {

Bytes RandomBytes(Random& random, size_t size) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// As they lie in memory.
uint16_t InMemory(uint16_t checksum) {
  const uint8_t bytes[] = {static_cast<uint8_t>(checksum >> 8), static_cast<uint8_t>(checksum)};
  uint16_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
uint32_t InMemory(uint32_t crc) {
  const uint8_t bytes[] = {static_cast<uint8_t>(crc), static_cast<uint8_t>(crc >> 8), static_cast<uint8_t>(crc >> 16),
                           static_cast<uint8_t>(crc >> 24)};
  uint32_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

TEST(SlowTwins, GiveThePublishedValues) {
  // RFC 1071, section 3, and the check value of CRC-32c.
  EXPECT_EQ(SlowChecksum(FromHex("0001f203f4f5f6f7")), 0x220d);
  const std::string digits = "123456789";
  EXPECT_EQ(SlowCrc32c(Bytes(digits.begin(), digits.end())), 0xe3069283);
}

TEST(UpdateChecksum, EqualsSummingAnew) {
  Random random(1);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = RandomBytes(random, 1 + Below(random, 64));
    if (Below(random, 3) == 0) std::fill(bytes.begin(), bytes.end(), 0xff);
    bytes[0] |= 1;  // all zero bytes have two checksums
    const size_t length = Below(random, bytes.size() / 2 + 1) * 2;
    const size_t at = Below(random, (bytes.size() - length) / 2 + 1) / 2 * 2;
    Bytes changed = bytes;
    for (size_t i = 0; i < length; ++i) changed[at + i] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
    changed[0] |= 1;
    EXPECT_EQ(UpdateChecksum(InMemory(SlowChecksum(bytes)), &bytes[at], &changed[at], length),
              InMemory(SlowChecksum(changed)))
        << ToHex(bytes) << " " << ToHex(changed);
  }
}

TEST(UpdateChecksum, TheExampleOfRfc1624) {
  // Section 4: 0xdd2f, 0x5555 becomes 0x3285; the answer is 0x0000, not 0xffff.
  const Bytes before = FromHex("5555");
  const Bytes after = FromHex("3285");
  EXPECT_EQ(UpdateChecksum(InMemory(uint16_t{0xdd2f}), before.data(), after.data(), 2), 0);
}

TEST(UpdateCrc32c, EqualsTheCrcOfTheWhole) {
  Random random(2);
  for (size_t size = 4; size < 3000; size += 1 + size / 16) {
    Bytes bytes = RandomBytes(random, size);
    for (size_t at : {size_t{0}, (size - 4) / 2, size - 4}) {
      Bytes changed = bytes;
      for (size_t i = 0; i < 4; ++i) changed[at + i] = static_cast<uint8_t>(random());
      EXPECT_EQ(UpdateCrc32c(InMemory(SlowCrc32c(bytes)), &bytes[at], &changed[at], size - at - 4),
                InMemory(SlowCrc32c(changed)))
          << size << " " << at;
    }
  }
}

TEST(UpdateCrc32c, TheLargestPacket) {
  Bytes bytes(65535, 0x5a);
  Bytes changed = bytes;
  changed[1] = 0;
  EXPECT_EQ(UpdateCrc32c(InMemory(SlowCrc32c(bytes)), bytes.data(), changed.data(), bytes.size() - 4),
            InMemory(SlowCrc32c(changed)));
}

TEST(UpdateCrc32c, AWrongCrcStaysWrongByTheSameBits) {
  const Bytes before = FromHex("01020304");
  const Bytes after = FromHex("01020305");
  const uint32_t right = UpdateCrc32c(0x12345678, before.data(), after.data(), 100);
  EXPECT_EQ(UpdateCrc32c(0x12345678 ^ 0x40, before.data(), after.data(), 100), right ^ 0x40);
}

}  // namespace
}  // namespace sluice
