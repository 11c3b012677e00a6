#include "dataplane/packet/neighbor.h"

#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/protocols.h"

namespace sluice {
namespace {

bool IsZeroAddress(const uint8_t* bytes) {
  return LoadRaw<uint32_t>(bytes) == 0 && LoadRaw<uint16_t>(bytes + sizeof(uint32_t)) == 0;
}

}  // namespace

NeighborPlaces FindNeighbor(const Frame& frame, uint32_t icmp, uint32_t size) {
  constexpr uint32_t kTargetAt = 8;
  constexpr uint32_t kOptionsAt = 24;
  constexpr uint32_t kUnit = 8;
  constexpr uint32_t kAddressAt = 2;
  const uint8_t type = frame.data[icmp];
  const bool discovery = type == kNdSolicitation || type == kNdAdvertisement;
  if (!discovery || frame.data[icmp + 1] != 0 || size < kOptionsAt) return {};
  if (icmp + kOptionsAt > frame.length) return {.more = true};
  NeighborPlaces places{.target = icmp + kTargetAt};
  uint32_t at = icmp + kOptionsAt;
  for (uint32_t left = size - kOptionsAt; left >= kUnit;) {
    if (at + kUnit > frame.length) return {.more = true};
    const uint8_t* option = frame.data + at;
    const uint32_t length = option[1] * kUnit;
    if (length == 0 || length > left) break;
    if (length == kUnit && (option[0] == kNdOptionSource || option[0] == kNdOptionTarget)) {
      uint32_t& place = option[0] == kNdOptionSource ? places.source_link : places.target_link;
      if (place != 0 && !IsZeroAddress(frame.data + place)) return {};
      place = at + kAddressAt;
    }
    at += length;
    left -= length;
  }
  return places;
}

}  // namespace sluice
