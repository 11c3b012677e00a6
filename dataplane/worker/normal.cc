#include "dataplane/worker/normal.h"

#include <algorithm>
#include <array>

#include "dataplane/packet/big_endian.h"
#include "dataplane/packet/protocols.h"

namespace sluice {
namespace {

constexpr uint32_t kMacSize = 6;

// IEEE 802.1D's, of which there are sixteen in a row, and those that bridges of
// Extreme Networks and Cisco use likewise.
bool IsReserved(uint64_t mac) {
  constexpr uint64_t kBridges = 0x0180c2000000, kCiscoCfm = 0x01000cccccc0;
  constexpr std::array<uint64_t, 7> kOthers = {0x00e02b000000, 0x00e02b000004, 0x00e02b000006, 0x01000c000000,
                                               0x01000ccccccc, 0x01000ccccccd, 0x01000ccdcdcd};
  if ((mac & ~uint64_t{0xf}) == kBridges || (mac & ~uint64_t{7}) == kCiscoCfm) return true;
  return std::ranges::find(kOthers, mac) != kOthers.end();
}

uint64_t MacAt(const Frame& frame, uint32_t offset) {
  return absl::Uint128Low64(LoadBigSized(frame.data + offset, kMacSize));
}

}  // namespace

NormalWay FindNormalWay(const Frame& frame, const HeaderLayout& layout, uint32_t ingress, const Snapshot& snapshot,
                        MacTable& macs, uint32_t now_seconds) {
  const uint64_t destination = MacAt(frame, 0);
  if (IsReserved(destination)) return {NormalWay::Kind::kReserved, Snapshot::kNoPort};
  const uint16_t vlan = layout.vlan_tags == 0 ? 0 : LoadBig<uint16_t>(frame.data + kEthernetSize) & 0xfff;
  if (ingress != 0) macs.Learn(MacAt(frame, kMacSize), vlan, ingress, now_seconds);
  const uint8_t port = snapshot.IndexOf(macs.Find(destination, vlan, now_seconds));
  if (port == Snapshot::kNoPort || !snapshot.ports[port].enabled) return {NormalWay::Kind::kFlood, Snapshot::kNoPort};
  return {NormalWay::Kind::kPort, port};
}

}  // namespace sluice
