#include "client/port_table.h"

#include <iostream>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/output.h"

namespace sluice::client {
namespace {

std::string Device(const v1::PortSpec& spec) {
  switch (spec.device_case()) {
    case v1::PortSpec::kTap:
      return absl::StrCat("tap ", spec.tap().interface().empty() ? spec.name() : spec.tap().interface());
    case v1::PortSpec::kInterface:
      return absl::StrCat("interface ",
                          spec.interface().interface().empty() ? spec.name() : spec.interface().interface());
    case v1::PortSpec::kPcap:
      return "pcap";
    case v1::PortSpec::kNull:
      return "null";
    case v1::PortSpec::kRing:
      return "ring";
    case v1::PortSpec::kPci:
      return absl::StrCat("pci ", spec.pci().address());
    case v1::PortSpec::kDevargs:
      return spec.devargs();
    case v1::PortSpec::DEVICE_NOT_SET:
      break;
  }
  return "?";
}

std::string State(const v1::Port& port) {
  if (port.spec().disabled()) return "disabled";
  if (!port.link_up()) return "no link";
  return port.spec().no_receive() ? "no receive" : "up";
}

}  // namespace

std::string FormatReasons(const google::protobuf::Map<std::string, uint64_t>& reasons) {
  std::string out;
  for (const auto& [reason, count] : std::map<std::string, uint64_t>(reasons.begin(), reasons.end())) {
    if (count > 0) absl::StrAppend(&out, out.empty() ? "" : ", ", reason, " ", count);
  }
  return out.empty() ? "-" : out;
}

v1::PortKey PortKeyOf(const std::string& text) {
  v1::PortKey key;
  uint32_t number = 0;
  if (absl::SimpleAtoi(text, &number)) {
    key.set_number(number);
  } else {
    key.set_name(text);
  }
  return key;
}

void PrintPorts(const v1::ListPortsResponse& ports, bool wide) {
  std::vector<std::string> header = {"PORT", "NAME", "DEVICE", "STATE", "RX-PACKETS", "TX-PACKETS"};
  if (wide) {
    for (const char* name : {"RX-BYTES", "TX-BYTES", "RX-MISSED", "RX-ERRORS", "RX-NO-BUFFERS", "MTU", "QUEUES",
                             "MBIT/S", "MAC", "DRIVER", "NUMA"}) {
      header.emplace_back(name);
    }
  }
  header.emplace_back("TX-DROPS");
  TableText table(header);
  for (const v1::Port& port : ports.ports()) {
    const v1::PortStats& stats = port.stats();
    std::vector<std::string> row = {absl::StrCat(port.spec().number()),
                                    port.spec().name(),
                                    Device(port.spec()),
                                    State(port),
                                    absl::StrCat(stats.receive_packets()),
                                    absl::StrCat(stats.transmit_packets())};
    if (wide) {
      for (const uint64_t number :
           {stats.receive_bytes(), stats.transmit_bytes(), stats.receive_missed(), stats.receive_errors(),
            stats.receive_no_buffers(), uint64_t{port.spec().mtu()}, uint64_t{port.spec().rx_queues()}}) {
        row.push_back(absl::StrCat(number));
      }
      row.push_back(port.link_speed_mbps() == 0 ? "-" : absl::StrCat(port.link_speed_mbps()));
      row.push_back(port.mac_address());
      row.push_back(port.driver());
      row.push_back(port.numa_node() < 0 ? "-" : absl::StrCat(port.numa_node()));
    }
    row.push_back(FormatReasons(stats.transmit_drops()));
    table.Add(std::move(row));
  }
  table.Print(std::cout);
}

}  // namespace sluice::client
