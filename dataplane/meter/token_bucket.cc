#include "dataplane/meter/token_bucket.h"

#include <algorithm>

namespace sluice {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int64_t kTicksPerNs = 16;
constexpr uint64_t kTicksPerSecond = 1'000'000'000 * kTicksPerNs;
constexpr uint64_t kChunksPerSecond = 1000;
constexpr Wide kLongest = Wide{1} << 62;

}  // namespace

int64_t TokenBucket::TimeFor(uint64_t tokens) const {
  const Wide ticks = (static_cast<Wide>(tokens) * kTicksPerSecond + rate_ - 1) / rate_;
  return static_cast<int64_t>(std::min(ticks, kLongest));
}

TokenBucket::TokenBucket(uint64_t rate, uint64_t burst, unsigned workers)
    : rate_(rate),
      chunk_(std::max<uint64_t>(1, std::min(rate / kChunksPerSecond, burst / (2 * workers)))),
      fill_time_(TimeFor(burst)),
      empty_at_(-fill_time_) {}

uint64_t TokenBucket::Draw(uint64_t now_ns, uint64_t least, uint64_t most, uint64_t* ready_ns) {
  const int64_t now = static_cast<int64_t>(now_ns) * kTicksPerNs;
  int64_t before = empty_at_.load(std::memory_order_relaxed);
  for (;;) {
    const int64_t empty_at = std::max(before, now - fill_time_);
    // Another worker's clock may be ahead by a little.
    const auto since = static_cast<uint64_t>(std::max<int64_t>(now - empty_at, 0));
    const auto there = static_cast<uint64_t>(static_cast<Wide>(since) * rate_ / kTicksPerSecond);
    if (there < least) {
      *ready_ns = static_cast<uint64_t>((empty_at + TimeFor(least) + kTicksPerNs - 1) / kTicksPerNs);
      return 0;
    }
    const uint64_t taken = std::min(there, most);
    if (empty_at_.compare_exchange_weak(before, empty_at + TimeFor(taken), std::memory_order_relaxed)) return taken;
  }
}

bool TokenBucket::Take(TokenShare& share, uint64_t now_ns, uint64_t tokens) {
  if (share.tokens != 0 && now_ns - share.drawn_ns > static_cast<uint64_t>(fill_time_ / kTicksPerNs)) share.tokens = 0;
  if (share.tokens < tokens) {
    const uint64_t least = tokens - share.tokens;
    if (share.refused != 0 && least >= share.refused && now_ns < share.retry_ns) return false;
    const uint64_t drawn = Draw(now_ns, least, std::max(least, chunk_), &share.retry_ns);
    share.refused = drawn == 0 ? least : 0;
    if (drawn == 0) return false;
    share.tokens += drawn;
    share.drawn_ns = now_ns;
  }
  share.tokens -= tokens;
  return true;
}

}  // namespace sluice
