#include "dataplane/group/select.h"

#include <cmath>
#include <cstring>

#include "dataplane/classifier/hash.h"
#include "dataplane/flow/match.h"
#include "dataplane/packet/protocols.h"

namespace sluice {
namespace {

// Any odd numbers with about as many ones as zeros: from the fractions of the
// square roots of 2 and 3.
constexpr uint64_t kSeed = 0x6a09e667f3bcc908;
constexpr uint64_t kMultiplier = 0xbb67ae8584caa73b;

uint64_t Mix(uint64_t hash, uint64_t word) { return MixWord(hash, word, kMultiplier); }

uint64_t MixBytes(uint64_t hash, const uint8_t* bytes, size_t count) {
  for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes + at, sizeof word);
    hash = Mix(hash, word);
  }
  return hash;
}

// The key has it in network order.
bool HasType(const PacketKey& key, uint16_t eth_type) {
  return key.eth_type == static_cast<uint16_t>(eth_type << 8 | eth_type >> 8);
}

bool HasPorts(const PacketKey& key) {
  const bool known = key.ip_proto == kIpProtoTcp || key.ip_proto == kIpProtoUdp || key.ip_proto == kIpProtoSctp;
  return known && key.ip_frag == 0;
}

uint64_t HashIp(const PacketKey& key, bool ipv4) {
  uint64_t hash = kSeed;
  if (ipv4) {
    hash = Mix(hash, WordOf(key, offsetof(PacketKey, ipv4_src) / sizeof(uint64_t)));
  } else {
    hash = MixBytes(hash, key.ipv6_src, sizeof key.ipv6_src + sizeof key.ipv6_dst);
  }
  return Mix(hash, key.ip_proto | (HasPorts(key) ? uint64_t{key.l4_src} << 16 | uint64_t{key.l4_dst} << 32 : 0));
}

uint64_t HashLink(const PacketKey& key) {
  uint64_t source = 0;
  std::memcpy(&source, key.eth_src, sizeof key.eth_src);
  // Destination and outer tag are one word.
  return Mix(Mix(kSeed, WordOf(key, offsetof(PacketKey, eth_dst) / sizeof(uint64_t))),
             source ^ uint64_t{key.eth_type} << 48);
}

}  // namespace

static_assert(offsetof(PacketKey, ipv6_dst) == offsetof(PacketKey, ipv6_src) + sizeof(PacketKey::ipv6_src));

SelectHash::SelectHash(std::span<const Field> fields) {
  Match match;
  for (const Field field : fields) MatchOn(match, field, 0, absl::Uint128Max());
  for (uint8_t i = 0; i < kKeyWords; ++i) {
    const uint64_t mask = WordOf(match.mask, i);
    if (mask != 0) words_.push_back({i, mask});
  }
}

uint64_t SelectHash::Of(const PacketKey& key) const {
  if (!words_.empty()) {
    uint64_t hash = kSeed;
    for (const Word& word : words_) hash = Mix(hash, WordOf(key, word.index) & word.mask);
    return hash;
  }
  const bool ipv4 = HasType(key, kEthTypeIpv4);
  const bool ip = (key.present & kPresentL3) != 0 && (ipv4 || HasType(key, kEthTypeIpv6));
  return ip ? HashIp(key, ipv4) : HashLink(key);
}

float DrawOf(uint64_t packet_hash, uint32_t bucket_id, uint32_t weight) {
  const uint64_t mixed = Mix(Mix(packet_hash ^ kSeed, bucket_id + uint64_t{1}), kMultiplier);
  // In (0, 1]; 24 bits are a float's.
  const float draw = static_cast<float>((mixed >> 40) + 1) * 0x1p-24f;
  return -std::log2(draw) / static_cast<float>(weight);
}

}  // namespace sluice
