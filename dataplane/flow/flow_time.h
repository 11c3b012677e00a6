// The two clocks that flows are measured by: what they say is handed on as a
// value, read once a change or step.
//
// Users see wall time. Timeouts run on the steady clock, which nobody sets.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace sluice {

struct FlowTime {
  int64_t unix_ns = 0;    // since 1970, as workers stamp flows
  int64_t steady_ns = 0;  // since some instant; never goes backwards
};

using FlowClock = std::function<FlowTime()>;

inline FlowTime ReadFlowTime() {
  const auto ns = [](auto time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  };
  return {.unix_ns = ns(std::chrono::system_clock::now()), .steady_ns = ns(std::chrono::steady_clock::now())};
}

}  // namespace sluice
