// So many things a second, and a second's worth at once. One thread; time is the
// caller's.

#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace sluice {

class RateLimit {
 public:
  // Full at first.
  RateLimit(uint32_t per_second, absl::Time now) : per_second_(per_second), tokens_(per_second), filled_(now) {}

  // False: too many.
  bool Take(absl::Time now) {
    // A clock that was set back does not stop the flow until it is where it was.
    if (now < filled_) filled_ = now;
    if (now > filled_) {
      tokens_ = std::min<double>(per_second_, tokens_ + per_second_ * absl::ToDoubleSeconds(now - filled_));
      filled_ = now;
    }
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  const uint32_t per_second_;
  double tokens_;
  absl::Time filled_;
};

}  // namespace sluice
