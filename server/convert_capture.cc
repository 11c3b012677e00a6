#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/proto_time.h"

namespace sluice {
namespace {

v1::CaptureDirection DirectionOf(CapturePoint point) {
  switch (point) {
    case CapturePoint::kReceived:
      return v1::CAPTURE_DIRECTION_IN;
    case CapturePoint::kSent:
      return v1::CAPTURE_DIRECTION_OUT;
    case CapturePoint::kDropped:
    case CapturePoint::kLost:
      return v1::CAPTURE_DIRECTION_DROPPED;
    case CapturePoint::kMatched:
      return v1::CAPTURE_DIRECTION_MATCHED;
  }
  return v1::CAPTURE_DIRECTION_UNSPECIFIED;
}

void DirectionsFromProto(const v1::CaptureRequest& in, ViolationList& violations, CaptureSpec& out) {
  if (in.directions().empty()) return;
  if (in.source_case() == v1::CaptureRequest::kFlowId) {
    violations.Add(Path("directions"), "a flow's capture has all packets that it matches, and no directions");
    return;
  }
  out.received = out.sent = out.dropped = false;
  for (int i = 0; i < in.directions_size(); ++i) {
    switch (in.directions(i)) {
      case v1::CAPTURE_DIRECTION_IN:
        out.received = true;
        break;
      case v1::CAPTURE_DIRECTION_OUT:
        out.sent = true;
        break;
      case v1::CAPTURE_DIRECTION_DROPPED:
        out.dropped = true;
        break;
      default:
        violations.Add(Path("directions", i),
                       absl::StrCat("no direction ", static_cast<int>(in.directions(i)),
                                    ": CAPTURE_DIRECTION_IN, CAPTURE_DIRECTION_OUT or CAPTURE_DIRECTION_DROPPED"));
    }
  }
}

}  // namespace

void CaptureSpecFromProto(const v1::CaptureRequest& in, ViolationList& violations, CaptureSpec& out) {
  DirectionsFromProto(in, violations, out);
  out.snap_length = in.snap_length();
  if (in.has_filter()) MatchFromProto(in.filter(), Path("filter"), violations, out.filter.emplace());
}

void CapturedPacketToProto(const CapturedPacket& packet, v1::CapturedPacket* out) {
  out->set_length(packet.length);
  TimeToProto(absl::FromUnixNanos(packet.time_unix_ns), out->mutable_time());
  out->set_port(packet.port);
  out->set_direction(DirectionOf(packet.point));
  if (packet.point == CapturePoint::kDropped) out->set_drop_reason(DropReasonName(packet.drop_reason));
  if (packet.point == CapturePoint::kLost) {
    out->set_drop_reason(PortLossName(packet.loss));
    out->set_on_way_out(true);
  }
  out->set_flow_id(packet.flow_id);
}

}  // namespace sluice
