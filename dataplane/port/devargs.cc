// The short forms of devices, written out as DPDK's devargs.
//
// Devargs have no quoting: a comma ends a value and brackets group. What would
// need it is refused, not passed on to mean something else.

#include <algorithm>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "dataplane/port/port_check.h"
#include "dataplane/port/port_config.h"

namespace sluice {
namespace {

constexpr size_t kMaxInterfaceName = 15;

// Never a part of a character: errors are UTF-8.
std::string Named(char c) {
  return absl::ascii_isprint(static_cast<unsigned char>(c))
             ? absl::StrCat("the character '", std::string(1, c), "'")
             : absl::StrCat("a byte 0x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
}

absl::StatusOr<std::string> InterfaceName(const std::string& interface, const std::string& port_name) {
  const std::string& name = interface.empty() ? port_name : interface;
  if (name.size() > kMaxInterfaceName) {
    return absl::InvalidArgumentError(
        absl::StrCat("interface \"", name, "\" has ", name.size(), " bytes; Linux allows at most ", kMaxInterfaceName,
                     (interface.empty() ? ": name the interface apart from the port" : "")));
  }
  if (name == "." || name == "..") {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" cannot name an interface"));
  }
  for (char c : name) {
    if (!absl::ascii_isgraph(c) || absl::string_view("/:,[]%=\"'").find(c) != absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("interface \"", name, "\" holds ", Named(c), "; letters, digits, '.', '_' and '-' are right"));
    }
  }
  return name;
}

absl::Status CheckPath(absl::string_view what, const std::string& path) {
  const size_t bad = path.find_first_of(",[]\"'\n");
  if (bad == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " \"", path, "\" holds ", Named(path[bad]),
                                                 ", which DPDK's devargs cannot carry; give the file another name"));
}

constexpr uint32_t kDefaultRingFrame = 2048;

std::string RingOf(uint32_t mtu) {
  const uint32_t frame = PacketRingFrame(mtu);
  if (frame == kDefaultRingFrame) return "";
  return absl::StrCat(",blocksz=", frame, ",framesz=", frame, ",framecnt=256");
}

absl::StatusOr<std::string> Devargs(const TapDevice& device, const PortConfig& config, unsigned unique) {
  const absl::StatusOr<std::string> name = InterfaceName(device.interface, config.name);
  if (!name.ok()) return name.status();
  return absl::StrCat("net_tap", unique, ",iface=", *name);
}

absl::StatusOr<std::string> Devargs(const InterfaceDevice& device, const PortConfig& config, unsigned unique) {
  const absl::StatusOr<std::string> name = InterfaceName(device.interface, config.name);
  if (!name.ok()) return name.status();
  return absl::StrCat("net_af_packet", unique, ",iface=", *name, ",qpairs=", std::max(config.rx_queues, 1u),
                      ",qdisc_bypass=1", RingOf(config.mtu));
}

absl::StatusOr<std::string> Devargs(const PcapDevice& device, const PortConfig&, unsigned unique) {
  if (absl::Status status = CheckPath("rx_file", device.rx_file); !status.ok()) return status;
  if (absl::Status status = CheckPath("tx_file", device.tx_file); !status.ok()) return status;
  if (device.infinite_rx && device.rx_file.empty()) {
    return absl::InvalidArgumentError("infinite_rx needs an rx_file to receive over and over");
  }
  // net_pcap refuses to live without any file.
  if (device.rx_file.empty() && device.tx_file.empty()) return absl::StrCat("net_null", unique, ",no-rx=1");
  std::string devargs = absl::StrCat("net_pcap", unique);
  if (!device.rx_file.empty()) absl::StrAppend(&devargs, ",rx_pcap=", device.rx_file);
  if (!device.tx_file.empty()) absl::StrAppend(&devargs, ",tx_pcap=", device.tx_file);
  if (device.infinite_rx) absl::StrAppend(&devargs, ",infinite_rx=1");
  return devargs;
}

absl::StatusOr<std::string> Devargs(const NullDevice& device, const PortConfig&, unsigned unique) {
  if (device.rx_frame_bytes == 0) return absl::StrCat("net_null", unique, ",no-rx=1");
  // Without copy=1 it would hand out what earlier frames left in the buffers.
  return absl::StrCat("net_null", unique, ",size=", device.rx_frame_bytes, ",copy=1");
}

absl::StatusOr<std::string> Devargs(const RingDevice&, const PortConfig&, unsigned unique) {
  return absl::StrCat("net_ring", unique);
}

// [domain:]bus:device.function in hexadecimal.
absl::StatusOr<std::string> Devargs(const PciDevice& device, const PortConfig&, unsigned) {
  constexpr absl::string_view kFull = "dddd:dd:dd.d";
  const std::string address =
      device.address.size() == kFull.size() - 5 ? absl::StrCat("0000:", device.address) : device.address;
  bool right = address.size() == kFull.size();
  for (size_t i = 0; right && i < kFull.size(); ++i) {
    right = kFull[i] == 'd' ? absl::ascii_isxdigit(address[i]) : address[i] == kFull[i];
  }
  if (right) return address;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", device.address, "\" is no PCI address; 0000:03:00.0 would be one"));
}

absl::StatusOr<std::string> Devargs(const DevargsDevice& device, const PortConfig&, unsigned) {
  const absl::string_view name = absl::string_view(device.devargs).substr(0, device.devargs.find(','));
  if (!name.empty() && device.devargs.find_first_of(" \t\n") == std::string::npos) return device.devargs;
  return absl::InvalidArgumentError(absl::StrCat("devargs \"", device.devargs,
                                                 "\" must be a device name and its arguments without blanks, as in "
                                                 "net_memif0,role=server,socket=/run/m.sock"));
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; }

}  // namespace

absl::StatusOr<std::string> DevargsOf(const PortConfig& config, unsigned unique) {
  return std::visit([&](const auto& device) { return Devargs(device, config, unique); }, config.device);
}

// Its header and alignment, then a frame with a tag that the kernel hands over
// apart. Blocks hold whole frames and are whole pages.
uint32_t PacketRingFrame(uint32_t mtu) {
  constexpr uint32_t kPage = 4096;
  const uint32_t frame = mtu + 14 + 4 + 80;
  return frame <= kDefaultRingFrame ? kDefaultRingFrame : (frame + kPage - 1) / kPage * kPage;
}

absl::Status CheckPortConfig(const PortConfig& config) {
  if (config.name.empty() || config.name.size() > kMaxPortName) {
    return absl::InvalidArgumentError(
        absl::StrCat("port name \"", config.name, "\" must have 1 to ", kMaxPortName, " characters"));
  }
  for (char c : config.name) {
    if (IsNameCharacter(c)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("port name \"", config.name, "\" may hold letters, digits, '.', '_' and '-' only"));
  }
  if (config.number > kMaxPortNumber) {
    return absl::InvalidArgumentError(absl::StrCat("port number ", config.number, " must be 1 to ", kMaxPortNumber,
                                                   ", or 0 for the lowest that is free"));
  }
  return CheckMtu(config.mtu);
}

absl::Status CheckMtu(uint32_t mtu) {
  if (mtu >= kMinMtu && mtu <= kMaxMtu) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("an MTU of ", mtu, " must be ", kMinMtu, " to ", kMaxMtu));
}

}  // namespace sluice
