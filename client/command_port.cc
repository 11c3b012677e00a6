// sluicectl port: add, list, delete, enable, disable. And how ports are shown.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli.h"
#include "client/output.h"
#include "client/port_table.h"

namespace sluice::client {
namespace {

// What the commands' options are read into.
struct PortArguments {
  std::string name;
  uint32_t number = 0, mtu = 0, rx_queues = 0;
  std::string tap, interface, pcap_rx, pcap_tx, pci, devargs;
  uint32_t null_bytes = 0;
  bool ring = false, infinite_rx = false, disabled = false, no_receive = false;
  // Whether the options with an optional value were given.
  const CLI::Option* tap_option = nullptr;
  const CLI::Option* null_option = nullptr;
};

// The switch has a working folder of its own.
std::string Absolute(const std::string& path) { return path.empty() ? "" : std::filesystem::absolute(path).string(); }

absl::StatusOr<v1::PortSpec> SpecOf(const PortArguments& arguments) {
  v1::PortSpec spec;
  spec.set_name(arguments.name);
  spec.set_number(arguments.number);
  spec.set_mtu(arguments.mtu);
  spec.set_rx_queues(arguments.rx_queues);
  spec.set_disabled(arguments.disabled);
  spec.set_no_receive(arguments.no_receive);
  const bool tap = arguments.tap_option->count() > 0;
  const bool null = arguments.null_option->count() > 0;
  const bool pcap = !arguments.pcap_rx.empty() || !arguments.pcap_tx.empty();
  const int devices = tap + null + pcap + arguments.ring + !arguments.interface.empty() + !arguments.pci.empty() +
                      !arguments.devargs.empty();
  if (devices != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "port add: ", devices == 0 ? "no device is given" : "more than one device is given",
        "; expected one of --tap, --interface, --pcap-rx and --pcap-tx, --null, --ring, --pci, --devargs"));
  }
  if (tap) spec.mutable_tap()->set_interface(arguments.tap);
  if (null) spec.mutable_null()->set_rx_frame_bytes(arguments.null_bytes);
  if (arguments.ring) spec.mutable_ring();
  if (!arguments.interface.empty()) spec.mutable_interface()->set_interface(arguments.interface);
  if (!arguments.pci.empty()) spec.mutable_pci()->set_address(arguments.pci);
  if (!arguments.devargs.empty()) spec.set_devargs(arguments.devargs);
  if (pcap) {
    spec.mutable_pcap()->set_rx_file(Absolute(arguments.pcap_rx));
    spec.mutable_pcap()->set_tx_file(Absolute(arguments.pcap_tx));
    spec.mutable_pcap()->set_infinite_rx(arguments.infinite_rx);
  }
  return spec;
}

int Print(const Cli& cli, const v1::Port& port, const char* what) {
  if (cli.json()) {
    std::cout << ToJson(port) << "\n";
  } else {
    std::cout << "port " << port.spec().number() << " (" << port.spec().name() << ") " << what << "\n";
  }
  return kOk;
}

int Add(Cli& cli, const PortArguments& arguments) {
  const absl::StatusOr<v1::PortSpec> spec = SpecOf(arguments);
  if (!spec.ok()) return cli.Misused(spec.status());
  v1::CreatePortRequest request;
  *request.mutable_port() = *spec;
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::CreatePortResponse> response = (*client)->CreatePort(request);
  return response.ok() ? Print(cli, response->port(), "added") : cli.Fail(response.status());
}

int List(Cli& cli) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::ListPortsResponse> response = (*client)->ListPorts();
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    std::cout << ToJson(*response) << "\n";
  } else {
    PrintPorts(*response, cli.wide());
  }
  return kOk;
}

int Delete(Cli& cli, const std::string& name) {
  v1::DeletePortRequest request;
  *request.mutable_key() = PortKeyOf(name);
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::DeletePortResponse> response = (*client)->DeletePort(request);
  return response.ok() ? Print(cli, response->port(), "deleted") : cli.Fail(response.status());
}

int Enable(Cli& cli, const std::string& name, bool enabled) {
  v1::UpdatePortRequest request;
  *request.mutable_key() = PortKeyOf(name);
  request.set_enabled(enabled);
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::UpdatePortResponse> response = (*client)->UpdatePort(request);
  if (!response.ok()) return cli.Fail(response.status());
  return Print(cli, response->port(), enabled ? "enabled" : "disabled");
}

void AddDeviceOptions(CLI::App& add, PortArguments& arguments) {
  arguments.tap_option =
      add.add_option("--tap", arguments.tap, "A new TAP interface; its name is the port's if not given")
          ->expected(0, 1)
          ->type_name("[IFACE]");
  add.add_option("--interface", arguments.interface, "An existing Linux interface, through AF_PACKET")
      ->type_name("IFACE");
  add.add_option("--pcap-rx", arguments.pcap_rx, "Frames to receive, from a capture file")->type_name("FILE");
  add.add_option("--pcap-tx", arguments.pcap_tx, "Where sent frames are written")->type_name("FILE");
  add.add_flag("--infinite-rx", arguments.infinite_rx, "Receive the capture over and over");
  arguments.null_option = add.add_option("--null", arguments.null_bytes,
                                         "Discards what it sends; BYTES: receives endless frames of so many")
                              ->expected(0, 1)
                              ->type_name("[BYTES]");
  add.add_flag("--ring", arguments.ring, "Gives back what is sent to it");
  add.add_option("--pci", arguments.pci, "A NIC that is bound to a userspace driver")->type_name("ADDRESS");
  add.add_option("--devargs", arguments.devargs, "Any DPDK device, for example net_memif0,role=server")
      ->type_name("DEVARGS");
}

}  // namespace

void AddPortCommands(CLI::App& app, Cli& cli, Action& action) {
  const auto arguments = std::make_shared<PortArguments>();
  CLI::App* group = app.add_subcommand("port", "Ports: add, list, remove, switch on and off");
  group->require_subcommand(1);
  const auto command = [&](const char* name, const char* help, const std::function<int()>& run) {
    CLI::App* sub = group->add_subcommand(name, help);
    sub->callback([&action, run] { action = run; });
    return sub;
  };

  CLI::App* add = command("add", "Open a device and add it", [&cli, arguments] { return Add(cli, *arguments); });
  add->add_option("NAME", arguments->name, "The port's name")->required();
  add->add_option("--number", arguments->number, "The port's number; the lowest free one if not given");
  AddDeviceOptions(*add, *arguments);
  add->add_option("--mtu", arguments->mtu, "Largest frame less its Ethernet header and VLAN tags; 1500 if not given");
  add->add_option("--rx-queues", arguments->rx_queues, "Receive queues; one a worker if not given");
  add->add_flag("--disabled", arguments->disabled, "Neither receive nor send yet");
  add->add_flag("--no-receive", arguments->no_receive, "Do not receive");

  command("list", "List ports and their counters", [&cli] { return List(cli); });
  const auto named = [&](CLI::App* sub) { sub->add_option("NAME|NUMBER", arguments->name, "The port")->required(); };
  named(command("delete", "Remove a port and close its device",
                [&cli, arguments] { return Delete(cli, arguments->name); }));
  named(command("enable", "Receive and send", [&cli, arguments] { return Enable(cli, arguments->name, true); }));
  named(command("disable", "Neither receive nor send",
                [&cli, arguments] { return Enable(cli, arguments->name, false); }));
}

}  // namespace sluice::client
