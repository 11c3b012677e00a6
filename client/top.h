// What a switch does a second: rates between two readings of its counters, as
// text for people or as JSON.
//
// Of the flows only the counters of the last reading are kept, and those few
// whole that will be shown. Counters that went back (a flow's were reset, a
// port was made anew) count from zero. Pure but for what is kept; one thread.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "sluice/v1/flow.pb.h"
#include "sluice/v1/port_service.pb.h"
#include "sluice/v1/switch_service.pb.h"

namespace sluice::client {

struct FlowDelta {
  v1::Flow flow;
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

// The flows that counted most since the reading before.
class FlowDeltas {
 public:
  enum class By { kPackets, kBytes };
  FlowDeltas(size_t keep, By by) : keep_(keep), by_(by) {}

  // Of the reading under way: every flow once.
  void Add(const v1::Flow& flow);
  // Ends the reading: the busiest that counted anything, busiest first. Those of
  // the first reading have counted since they were made.
  std::vector<FlowDelta> Finish();

 private:
  struct Counters {
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };
  bool Busier(const FlowDelta& a, const FlowDelta& b) const;

  size_t keep_;
  By by_;
  absl::flat_hash_map<uint64_t, Counters> before_, now_;  // by id
  std::vector<FlowDelta> best_;                           // a heap, the least busy first
};

struct TopReading {
  absl::Time time;
  v1::GetSwitchResponse info;
  v1::ListPortsResponse ports;
};

struct TopFrame {
  const TopReading& before;
  const TopReading& now;
  const std::vector<FlowDelta>& flows;

  double seconds() const { return absl::ToDoubleSeconds(now.time - before.time); }
};

// "15300000" as "15.3M": three digits, then a factor.
std::string FormatRate(double rate);

std::string TopText(const TopFrame& frame, const std::string& address);
// One line.
std::string TopJson(const TopFrame& frame);

}  // namespace sluice::client
