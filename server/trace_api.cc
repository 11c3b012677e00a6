#include "server/trace_api.h"

#include "server/convert.h"

namespace sluice {

absl::Status TraceApi::TracePacket(const v1::TracePacketRequest& request, v1::TracePacketResponse* response) const {
  ViolationList violations;
  FrameBytes frame;
  FrameFromProto(request.frame(), Path("frame"), violations, frame);
  if (!violations.empty()) return violations.ToStatus();
  const absl::StatusOr<TraceResult> trace = dataplane_.Trace(request.in_port(), frame);
  if (!trace.ok()) return trace.status();
  TraceToProto(*trace, response);
  return absl::OkStatus();
}

}  // namespace sluice
