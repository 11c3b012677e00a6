#include "dataplane/port/preflight.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "dataplane/port/port_check.h"

namespace sluice {
namespace {

absl::Status Refusal(int error, absl::string_view what) {
  const bool permission = error == EPERM || error == EACCES;
  return absl::Status(permission ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kFailedPrecondition,
                      absl::StrCat(what, ": ", strerrordesc_np(error)));
}

// The kernel would attach a second user to a TAP interface without a word, and
// give each some of the frames. Persistent ones are there to be attached to.
absl::Status CheckTapInterface(const std::string& name) {
  if (if_nametoindex(name.c_str()) == 0) return absl::OkStatus();
  const std::string folder = absl::StrCat("/sys/class/net/", name);
  if (access(folder.c_str(), F_OK) != 0) return absl::OkStatus();  // of another namespace: it cannot tell
  std::string flags;
  std::getline(std::ifstream(folder + "/tun_flags") >> std::ws, flags);
  if (flags.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("net_tap: interface ", name, " exists and is no TAP interface"));
  }
  if ((std::strtoul(flags.c_str(), nullptr, 16) & IFF_PERSIST) != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("net_tap: TAP interface ", name, " is in use already"));
}

absl::Status Check(const TapDevice& device, const PortConfig& config, const PreflightLimits&) {
  const int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (fd < 0) return Refusal(errno, "net_tap: cannot open /dev/net/tun");
  close(fd);
  return CheckTapInterface(device.interface.empty() ? config.name : device.interface);
}

absl::Status Check(const InterfaceDevice&, const PortConfig& config, const PreflightLimits& limits) {
  if (const uint32_t need = PacketRingFrame(config.mtu) - 32; need > limits.buffer_bytes) {
    return absl::FailedPreconditionError(absl::StrCat("net_af_packet: an MTU of ", config.mtu,
                                                      " needs packet buffers of ", need, " bytes; these have ",
                                                      limits.buffer_bytes));
  }
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0) return Refusal(errno, "net_af_packet: cannot open an AF_PACKET socket");
  close(fd);
  return absl::OkStatus();
}

// With infinite_rx the driver keeps the whole file in packet buffers, a frame in each.
absl::Status CheckInfinite(pcap_t* capture, const std::string& file, const PreflightLimits& limits) {
  uint64_t frames = 0;
  uint32_t longest = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (pcap_next_ex(capture, &header, &bytes) == 1) {
    ++frames;
    longest = std::max(longest, header->caplen);
  }
  if (frames == 0) return absl::InvalidArgumentError(absl::StrCat("net_pcap: ", file, " holds no frame to repeat"));
  if (longest > limits.buffer_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("net_pcap: ", file, " holds a frame of ", longest,
                     " bytes; with infinite_rx each must fit a packet buffer, and these have ", limits.buffer_bytes));
  }
  if (frames > limits.spare_buffers) {
    return absl::ResourceExhaustedError(absl::StrCat("net_pcap: with infinite_rx the ", frames, " frames of ", file,
                                                     " need a packet buffer each; ", limits.spare_buffers,
                                                     " can be spared"));
  }
  return absl::OkStatus();
}

absl::Status CheckCapture(const PcapDevice& device, const PreflightLimits& limits) {
  if (access(device.rx_file.c_str(), R_OK) != 0) {
    return Refusal(errno, absl::StrCat("net_pcap: cannot read ", device.rx_file));
  }
  char reason[PCAP_ERRBUF_SIZE] = "";
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> capture(pcap_open_offline(device.rx_file.c_str(), reason),
                                                           pcap_close);
  if (capture == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("net_pcap: cannot read ", device.rx_file, ": ", reason));
  }
  if (const int link = pcap_datalink(capture.get()); link != DLT_EN10MB) {
    const char* name = pcap_datalink_val_to_name(link);
    return absl::FailedPreconditionError(absl::StrCat("net_pcap: ", device.rx_file, " holds frames of link type ",
                                                      name != nullptr ? std::string(name) : absl::StrCat(link),
                                                      "; only Ethernet (EN10MB) can be received"));
  }
  return device.infinite_rx ? CheckInfinite(capture.get(), device.rx_file, limits) : absl::OkStatus();
}

absl::Status Check(const PcapDevice& device, const PortConfig&, const PreflightLimits& limits) {
  if (!device.rx_file.empty()) {
    if (absl::Status status = CheckCapture(device, limits); !status.ok()) return status;
  }
  if (device.tx_file.empty()) return absl::OkStatus();
  const std::filesystem::path file(device.tx_file);
  struct stat existing = {};
  const bool exists = stat(file.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    return Refusal(EISDIR, absl::StrCat("net_pcap: cannot write ", device.tx_file));
  const std::string asked = exists ? file.string() : (file.has_parent_path() ? file.parent_path().string() : ".");
  if (access(asked.c_str(), W_OK) == 0) return absl::OkStatus();
  return Refusal(errno, absl::StrCat("net_pcap: cannot write ", device.tx_file));
}

absl::Status Check(const NullDevice& device, const PortConfig&, const PreflightLimits& limits) {
  if (device.rx_frame_bytes <= limits.buffer_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("net_null: frames of ", device.rx_frame_bytes,
                                                 " bytes do not fit a packet buffer of ", limits.buffer_bytes));
}

absl::Status Check(const PciDevice& device, const PortConfig&, const PreflightLimits& limits) {
  if (limits.use_pci) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "PCI device ", device.address, " cannot be used: PCI is off; the setting eal.pci: true turns it on"));
}

absl::Status Check(const RingDevice&, const PortConfig&, const PreflightLimits&) { return absl::OkStatus(); }

// Written out, PCI addresses and net_pcap are checked as in their short forms:
// with infinite_rx, the driver frees a ring twice if it finds too few buffers.
absl::Status Check(const DevargsDevice& device, const PortConfig& config, const PreflightLimits& limits) {
  const std::vector<std::string> words = absl::StrSplit(device.devargs, ',');
  const PciDevice pci{words[0]};
  if (DevargsOf({.name = config.name, .device = pci}, 0).ok()) return Check(pci, config, limits);
  if (!absl::StartsWith(words[0], "net_pcap") && !absl::StartsWith(words[0], "eth_pcap")) return absl::OkStatus();
  PcapDevice pcap;
  for (absl::string_view word : words) {
    if (absl::ConsumePrefix(&word, "rx_pcap=")) pcap.rx_file = std::string(word);
    if (absl::ConsumePrefix(&word, "tx_pcap=")) pcap.tx_file = std::string(word);
    if (absl::ConsumePrefix(&word, "infinite_rx=")) pcap.infinite_rx = word != "0";
  }
  return Check(pcap, config, limits);
}

}  // namespace

absl::Status Preflight(const PortConfig& config, const PreflightLimits& limits) {
  return std::visit([&](const auto& device) { return Check(device, config, limits); }, config.device);
}

}  // namespace sluice
