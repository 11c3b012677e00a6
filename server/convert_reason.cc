// Why packets go to controllers.

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "server/convert.h"

namespace sluice {
namespace {

// By PuntReason.
constexpr std::array kReasons = {v1::PACKET_REASON_ACTION, v1::PACKET_REASON_NO_MATCH,    v1::PACKET_REASON_ACTION_SET,
                                 v1::PACKET_REASON_GROUP,  v1::PACKET_REASON_INVALID_TTL, v1::PACKET_REASON_PACKET_OUT};
static_assert(kReasons.size() == static_cast<size_t>(PuntReason::kPacketOut) + 1);

std::string NamesOfAll() {
  std::string names;
  for (const v1::PacketReason& reason : kReasons) {
    const bool last = &reason == &kReasons.back();
    absl::StrAppend(&names, names.empty() ? "" : last ? " or " : ", ", v1::PacketReason_Name(reason));
  }
  return names;
}

}  // namespace

void PacketReasonFromProto(v1::PacketReason in, const Path& path, ViolationList& violations, PuntReason& out) {
  const auto* const found = std::ranges::find(kReasons, in);
  if (found == kReasons.end()) {
    return violations.Add(path, absl::StrCat("no reason ", static_cast<int>(in), ": ", NamesOfAll()));
  }
  out = static_cast<PuntReason>(found - kReasons.begin());
}

v1::PacketReason PacketReasonToProto(PuntReason reason) { return kReasons[static_cast<size_t>(reason)]; }

}  // namespace sluice
