#include "server/page_token.h"

#include <bit>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr size_t kDigits = 16;

absl::string_view BytesOf(const PacketKey& key) { return {reinterpret_cast<const char*>(&key), sizeof key}; }

uint64_t CheckOf(uint64_t seed, const FlowFilter& filter, uint64_t after_id) {
  return absl::HashOf(seed, after_id, filter.table_id.value_or(0), filter.table_id.has_value(),
                      filter.priority.value_or(0), filter.priority.has_value(), filter.out_port.value_or(0),
                      filter.cookie, filter.cookie_mask, BytesOf(filter.match.value), BytesOf(filter.match.mask),
                      std::bit_cast<uint64_t>(filter.match.ports));
}

}  // namespace

std::string MakePageToken(uint64_t seed, const FlowFilter& filter, uint64_t after_id) {
  return absl::StrCat(absl::Hex(after_id, absl::kZeroPad16),
                      absl::Hex(CheckOf(seed, filter, after_id), absl::kZeroPad16));
}

bool ReadPageToken(absl::string_view token, uint64_t seed, const FlowFilter& filter, uint64_t& after_id) {
  after_id = 0;
  if (token.empty()) return true;
  uint64_t check = 0;
  return token.size() == 2 * kDigits && absl::SimpleHexAtoi(token.substr(0, kDigits), &after_id) &&
         absl::SimpleHexAtoi(token.substr(kDigits), &check) && check == CheckOf(seed, filter, after_id);
}

}  // namespace sluice
