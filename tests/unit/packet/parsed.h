// A frame's bytes, parsed: what tests of the parser look at.

#pragma once

#include <cstring>
#include <string_view>

#include "dataplane/packet/field.h"
#include "dataplane/packet/parse.h"
#include "tests/support/heap_frame.h"

namespace sluice {

inline constexpr uint16_t kIp = kPresentL3 | kPresentIp;
inline constexpr uint16_t kAll = kIp | kPresentL4;
inline constexpr auto kOk = ParseResult::kOk;
inline constexpr auto kMalformed = ParseResult::kMalformed;

struct Parsed {
  ParseResult result;
  PacketKey key{};
  HeaderLayout layout;

  uint16_t eth_type() const { return static_cast<uint16_t>(GetField(key, Field::kEthType)); }
  uint16_t tp_src() const { return static_cast<uint16_t>(GetField(key, Field::kTcpSrc)); }
  uint16_t tp_dst() const { return static_cast<uint16_t>(GetField(key, Field::kTcpDst)); }
  uint16_t vlan_tci() const { return static_cast<uint16_t>(GetField(key, Field::kVlanTci)); }
};

inline Parsed ParseBytes(const Bytes& bytes) {
  HeapFrame frame(bytes);
  Parsed parsed;
  std::memset(&parsed.key, 0xee, kFirstPipelineWord * sizeof(uint64_t));
  parsed.result = Parse(frame.frame(), 1, parsed.key, parsed.layout);
  return parsed;
}
inline Parsed ParseHex(std::string_view hex) { return ParseBytes(FromHex(hex)); }
inline Parsed ParseFrame(const PacketBuilder& builder) { return ParseBytes(builder.Build()); }

}  // namespace sluice
