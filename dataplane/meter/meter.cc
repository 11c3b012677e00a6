#include "dataplane/meter/meter.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr uint64_t kBitsPerKilobit = 1000;

// A line of its own: workers write it.
std::unique_ptr<TokenBucket> NewTokenBucket(const BandSpec& spec, MeterUnit unit, unsigned workers) {
  const uint64_t scale = unit == MeterUnit::kKilobits ? kBitsPerKilobit : 1;
  const uint64_t burst = spec.burst != 0 ? spec.burst : spec.rate;
  return std::make_unique<TokenBucket>(spec.rate * scale, burst * scale, workers);
}

}  // namespace

uint8_t RaiseDropPrecedence(uint8_t dscp, uint8_t levels) {
  const unsigned forwarding_class = dscp >> 3, precedence = dscp >> 1 & 3;
  const bool assured = (dscp & 1) == 0 && forwarding_class >= 1 && forwarding_class <= 4 && precedence != 0;
  if (!assured) return dscp;
  return static_cast<uint8_t>(forwarding_class << 3 | std::min(3u, precedence + levels) << 1);
}

Meter::Meter(const MeterSpec& spec, unsigned workers, std::shared_ptr<MeterCounters> counters)
    : unit_(spec.unit), shares_(std::make_unique<Shares[]>(workers)), counters_(std::move(counters)) {
  for (const BandSpec& band : spec.bands) bands_.push_back({band, NewTokenBucket(band, spec.unit, workers)});
}

Meter::Verdict Meter::Admit(unsigned worker, uint64_t now_ns, uint32_t bytes) const {
  counters_->all.Count(worker, bytes);
  const uint64_t tokens = unit_ == MeterUnit::kKilobits ? uint64_t{bytes} * 8 : 1;
  const Band* exceeded = nullptr;
  for (size_t i = 0; i < bands_.size(); ++i) {
    const Band& band = bands_[i];
    if (band.bucket->Take(shares_[worker].bands[i], now_ns, tokens)) continue;
    if (exceeded == nullptr || band.spec.rate > exceeded->spec.rate) exceeded = &band;
  }
  if (exceeded == nullptr) return {};
  counters_->bands[static_cast<size_t>(exceeded - bands_.data())]->Count(worker, bytes);
  if (exceeded->spec.type == BandType::kDrop) return {.drop = true};
  return {.raise = exceeded->spec.prec_level};
}

}  // namespace sluice
