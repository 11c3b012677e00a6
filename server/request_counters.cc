#include "server/request_counters.h"

namespace sluice {
namespace {

constexpr std::array<absl::string_view, kMethodCount> kNames = {
    "sluice.v1.FlowService/CreateFlow",
    "sluice.v1.FlowService/GetFlow",
    "sluice.v1.FlowService/UpdateFlow",
    "sluice.v1.FlowService/DeleteFlow",
    "sluice.v1.FlowService/DeleteMatchingFlows",
    "sluice.v1.FlowService/ListFlows",
    "sluice.v1.FlowService/BatchWrite",
    "sluice.v1.FlowService/WatchFlows",
    "sluice.v1.PortService/CreatePort",
    "sluice.v1.PortService/GetPort",
    "sluice.v1.PortService/UpdatePort",
    "sluice.v1.PortService/DeletePort",
    "sluice.v1.PortService/ListPorts",
    "sluice.v1.TableService/ListTables",
    "sluice.v1.TableService/UpdateTable",
    "sluice.v1.TableService/ListMasks",
    "sluice.v1.TableService/ResortMasks",
    "sluice.v1.SwitchService/GetSwitch",
    "sluice.v1.SwitchService/GetCapabilities",
    "sluice.v1.SwitchService/GetSettings",
    "sluice.v1.SwitchService/UpdateSettings",
    "sluice.v1.GroupService/CreateGroup",
    "sluice.v1.GroupService/GetGroup",
    "sluice.v1.GroupService/UpdateGroup",
    "sluice.v1.GroupService/DeleteGroup",
    "sluice.v1.GroupService/ListGroups",
    "sluice.v1.MeterService/CreateMeter",
    "sluice.v1.MeterService/GetMeter",
    "sluice.v1.MeterService/UpdateMeter",
    "sluice.v1.MeterService/DeleteMeter",
    "sluice.v1.MeterService/ListMeters",
    "sluice.v1.MacService/ListMacs",
    "sluice.v1.MacService/FlushMacs",
    "sluice.v1.PacketService/WatchPackets",
    "sluice.v1.PacketService/SendPacket",
    "sluice.v1.PacketService/SendPackets",
    "sluice.v1.TraceService/TracePacket",
    "sluice.v1.CaptureService/Capture",
};

}  // namespace

void RequestCounters::Count(Method method, absl::StatusCode code) {
  const int index = static_cast<int>(code);
  const int known = index >= 0 && index < kCodes ? index : static_cast<int>(absl::StatusCode::kUnknown);
  counts_[static_cast<int>(method)][known].fetch_add(1, std::memory_order_relaxed);
}

void RequestCounters::ForEach(
    const std::function<void(absl::string_view method, const std::string& code, uint64_t count)>& fn) const {
  for (int method = 0; method < kMethodCount; ++method) {
    for (int code = 0; code < kCodes; ++code) {
      const uint64_t count = counts_[method][code].load(std::memory_order_relaxed);
      if (count > 0) fn(kNames[method], absl::StatusCodeToString(static_cast<absl::StatusCode>(code)), count);
    }
  }
}

}  // namespace sluice
