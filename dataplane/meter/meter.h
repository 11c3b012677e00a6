// Meters: what controllers write, what workers ask, what was counted.
//
// Each band has a token bucket of its own, from which every packet takes, also
// one that another band drops; bands that have too little are exceeded, and of
// these the one with the highest rate says what becomes of the packet, as
// OpenFlow has it.
//
// Admit: worker `worker`; nothing that workers share is written but once a chunk
// (token_bucket.h). Else value types; any thread.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/flow/packet_counters.h"
#include "dataplane/meter/token_bucket.h"

namespace sluice {

inline constexpr uint32_t kMaxMeterId = 0xffff;
inline constexpr size_t kMaxMeterBands = 8;

enum class MeterUnit : uint8_t { kPackets, kKilobits };  // a second
enum class BandType : uint8_t { kDrop, kRemark };

struct BandSpec {
  BandType type = BandType::kDrop;
  uint32_t rate = 0;       // in the meter's unit; at least 1
  uint32_t burst = 0;      // packets or kilobits; 0: as many as a second brings
  uint8_t prec_level = 0;  // kRemark: how much higher the drop precedence becomes

  friend bool operator==(const BandSpec&, const BandSpec&) = default;
};

struct MeterSpec {
  uint32_t id = 0;
  MeterUnit unit = MeterUnit::kPackets;
  std::vector<BandSpec> bands;

  friend bool operator==(const MeterSpec&, const MeterSpec&) = default;
};

struct MeterInfo {
  MeterSpec spec;
  PacketCount count;                     // packets that came
  std::vector<PacketCount> band_counts;  // packets that exceeded the band, and to which it was applied
};

struct MeterCounters {
  explicit MeterCounters(unsigned workers) : all(workers) {
    for (size_t i = 0; i < kMaxMeterBands; ++i) bands.push_back(std::make_unique<PacketCounters>(workers));
  }

  PacketCounters all;
  std::vector<std::unique_ptr<PacketCounters>> bands;
};

// The DSCP with its drop precedence higher by so much, at most 3: of assured
// forwarding (RFC 2597). Others have none and stay as they are.
uint8_t RaiseDropPrecedence(uint8_t dscp, uint8_t levels);

class Meter {
 public:
  struct Verdict {
    bool drop = false;
    uint8_t raise = 0;  // the drop precedence, by so much
  };

  Meter(const MeterSpec& spec, unsigned workers, std::shared_ptr<MeterCounters> counters);

  Verdict Admit(unsigned worker, uint64_t now_ns, uint32_t bytes) const;
  const std::shared_ptr<MeterCounters>& counters() const { return counters_; }

 private:
  struct Band {
    BandSpec spec;
    std::unique_ptr<TokenBucket> bucket;
  };
  // A worker's of all bands.
  struct alignas(64) Shares {
    TokenShare bands[kMaxMeterBands];
  };

  const MeterUnit unit_;
  std::vector<Band> bands_;
  const std::unique_ptr<Shares[]> shares_;  // by worker
  const std::shared_ptr<MeterCounters> counters_;
};

}  // namespace sluice
