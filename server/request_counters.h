// How often each method of the API ended with which code.
//
// Counted where replies are sent, from any thread; read by the metrics. Calls
// that never reach a handler (unknown methods, messages above gRPC's limit) are
// not counted.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

enum class Method : uint8_t {
  kCreateFlow,
  kGetFlow,
  kUpdateFlow,
  kDeleteFlow,
  kDeleteMatchingFlows,
  kListFlows,
  kBatchWrite,
  kWatchFlows,
  kCreatePort,
  kGetPort,
  kUpdatePort,
  kDeletePort,
  kListPorts,
  kListTables,
  kUpdateTable,
  kListMasks,
  kResortMasks,
  kGetSwitch,
  kGetCapabilities,
  kGetSettings,
  kUpdateSettings,
  kCreateGroup,
  kGetGroup,
  kUpdateGroup,
  kDeleteGroup,
  kListGroups,
  kCreateMeter,
  kGetMeter,
  kUpdateMeter,
  kDeleteMeter,
  kListMeters,
  kListMacs,
  kFlushMacs,
  kWatchPackets,
  kSendPacket,
  kSendPackets,
  kTracePacket,
  kCapture,
};
inline constexpr int kMethodCount = static_cast<int>(Method::kCapture) + 1;

class RequestCounters {
 public:
  void Count(Method method, absl::StatusCode code);
  // Those above zero, in the order of methods; `method` as in "sluice.v1.FlowService/GetFlow", `code` as in
  // "NOT_FOUND".
  void ForEach(const std::function<void(absl::string_view method, const std::string& code, uint64_t count)>& fn) const;

 private:
  static constexpr int kCodes = 17;  // OK to UNAUTHENTICATED

  std::array<std::array<std::atomic<uint64_t>, kCodes>, kMethodCount> counts_{};
};

}  // namespace sluice
