// Ports. What a device's own arguments may be is decided where they become
// devargs (DevargsOf); here it is only said where in the request they stand.

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/quote.h"

namespace sluice {
namespace {

constexpr size_t kMaxPortName = 31;

// Fills the device and returns the name of its field; empty: none is given.
absl::string_view DeviceFromProto(const v1::PortSpec& in, PortDevice& out) {
  switch (in.device_case()) {
    case v1::PortSpec::kTap:
      out = TapDevice{in.tap().interface()};
      return "tap";
    case v1::PortSpec::kInterface:
      out = InterfaceDevice{in.interface().interface()};
      return "interface";
    case v1::PortSpec::kPcap:
      out = PcapDevice{in.pcap().rx_file(), in.pcap().tx_file(), in.pcap().infinite_rx()};
      return "pcap";
    case v1::PortSpec::kNull:
      out = NullDevice{in.null().rx_frame_bytes()};
      return "null";
    case v1::PortSpec::kRing:
      out = RingDevice{};
      return "ring";
    case v1::PortSpec::kPci:
      out = PciDevice{in.pci().address()};
      return "pci";
    case v1::PortSpec::kDevargs:
      out = DevargsDevice{in.devargs()};
      return "devargs";
    case v1::PortSpec::DEVICE_NOT_SET:
      break;
  }
  return {};
}

struct DeviceToProto {
  v1::PortSpec* out;

  void operator()(const TapDevice& device) const { out->mutable_tap()->set_interface(device.interface); }
  void operator()(const InterfaceDevice& device) const { out->mutable_interface()->set_interface(device.interface); }
  void operator()(const PcapDevice& device) const {
    out->mutable_pcap()->set_rx_file(device.rx_file);
    out->mutable_pcap()->set_tx_file(device.tx_file);
    out->mutable_pcap()->set_infinite_rx(device.infinite_rx);
  }
  void operator()(const NullDevice& device) const { out->mutable_null()->set_rx_frame_bytes(device.rx_frame_bytes); }
  void operator()(const RingDevice&) const { out->mutable_ring(); }
  void operator()(const PciDevice& device) const { out->mutable_pci()->set_address(device.address); }
  void operator()(const DevargsDevice& device) const { out->set_devargs(device.devargs); }
};

uint32_t CheckMtu(uint32_t mtu, const Path& path, ViolationList& violations) {
  if (mtu == 0) return kDefaultMtu;
  if (mtu < kMinMtu || mtu > kMaxMtu) {
    violations.Add(path, absl::StrCat(mtu, " is no MTU: ", kMinMtu, " to ", kMaxMtu, ", or 0 for ", kDefaultMtu));
  }
  return mtu;
}

void PortStatsToProto(const PortStats& stats, v1::PortStats* out) {
  out->set_receive_packets(stats.receive_packets);
  out->set_receive_bytes(stats.receive_bytes);
  out->set_transmit_packets(stats.transmit_packets);
  out->set_transmit_bytes(stats.transmit_bytes);
  out->set_receive_missed(stats.receive_missed);
  out->set_receive_errors(stats.receive_errors);
  out->set_receive_no_buffers(stats.receive_no_buffers);
  auto& drops = *out->mutable_transmit_drops();
  drops["tx_full"] = stats.drop_tx_full;
  drops["mtu"] = stats.drop_mtu;
  drops["down"] = stats.drop_down;
  drops["no_buffers"] = stats.drop_no_buffers;
}

}  // namespace

std::string CheckPortName(absl::string_view name) {
  bool right = !name.empty() && name.size() <= kMaxPortName;
  for (char c : name) right = right && (absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-');
  if (right) return {};
  return absl::StrCat(Quoted(name), " is no port's name: 1 to ", kMaxPortName, " of letters, digits, '.', '_', '-'");
}

void PortConfigFromProto(const v1::PortSpec& in, const Path& path, ViolationList& violations, PortConfig& out) {
  const size_t before = violations.count();
  if (std::string wrong = CheckPortName(in.name()); !wrong.empty()) violations.Add(Path(path, "name"), wrong);
  if (in.number() > kMaxPortNumber) {
    violations.Add(Path(path, "number"), absl::StrCat(in.number(), " is no port's number: 1 to ", kMaxPortNumber,
                                                      ", or 0 for the lowest free one"));
  }
  if (in.rx_queues() > kMaxRxQueues) {
    violations.Add(Path(path, "rx_queues"), absl::StrCat(in.rx_queues(), " queues are too many: 1 to ", kMaxRxQueues,
                                                         ", or 0 for one a worker"));
  }
  out.mtu = CheckMtu(in.mtu(), Path(path, "mtu"), violations);
  out.name = in.name();
  out.number = in.number();
  out.rx_queues = in.rx_queues();
  out.enabled = !in.disabled();
  out.receive = !in.no_receive();
  const absl::string_view device = DeviceFromProto(in, out.device);
  if (device.empty()) {
    violations.Add(path, "no device given: one of tap, interface, pcap, null, ring, pci, devargs");
  } else if (violations.count() == before) {
    const auto devargs = DevargsOf(out, 0);
    if (!devargs.ok()) violations.Add(Path(path, device), std::string(devargs.status().message()));
  }
}

void PortChangeFromProto(const v1::UpdatePortRequest& in, ViolationList& violations, Dataplane::PortChange& out) {
  if (in.has_enabled()) out.enabled = in.enabled();
  if (in.has_receive()) out.receive = in.receive();
  if (in.has_mtu()) out.mtu = CheckMtu(in.mtu(), Path("mtu"), violations);
}

void PortToProto(const PortInfo& port, v1::Port* out) {
  v1::PortSpec* spec = out->mutable_spec();
  spec->set_name(port.config.name);
  spec->set_number(port.config.number);
  std::visit(DeviceToProto{spec}, port.config.device);
  spec->set_mtu(port.config.mtu);
  spec->set_rx_queues(port.config.rx_queues);
  spec->set_disabled(!port.config.enabled);
  spec->set_no_receive(!port.config.receive);
  out->set_link_up(port.link_up);
  out->set_link_speed_mbps(port.link_speed_mbps);
  out->set_mac_address(port.mac_address);
  out->set_driver(port.driver);
  out->set_numa_node(port.numa_node);
  PortStatsToProto(port.stats, out->mutable_stats());
}

}  // namespace sluice
