#include "client/packet_reason.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sluice::client {

std::string NameOf(v1::PacketReason reason) {
  constexpr size_t kPrefix = sizeof("PACKET_REASON_") - 1;
  const std::string& name = v1::PacketReason_Name(reason);
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix)) : absl::StrCat(static_cast<int>(reason));
}

const std::map<std::string, v1::PacketReason>& PacketReasons() {
  static const auto* const kReasons = [] {
    auto* const reasons = new std::map<std::string, v1::PacketReason>;
    for (int number = v1::PACKET_REASON_UNSPECIFIED + 1; number <= v1::PacketReason_MAX; ++number) {
      const auto reason = static_cast<v1::PacketReason>(number);
      reasons->emplace(NameOf(reason), reason);
    }
    return reasons;
  }();
  return *kReasons;
}

std::string PacketReasonNames() {
  std::string names;
  for (int number = v1::PACKET_REASON_UNSPECIFIED + 1; number <= v1::PacketReason_MAX; ++number) {
    const char* const before = names.empty() ? "" : number == v1::PacketReason_MAX ? " or " : ", ";
    absl::StrAppend(&names, before, NameOf(static_cast<v1::PacketReason>(number)));
  }
  return names;
}

}  // namespace sluice::client
