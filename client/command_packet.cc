// sluicectl packet: in, out.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/capture.h"
#include "client/cli.h"
#include "client/output.h"

namespace sluice::client {
namespace {

const std::map<std::string, v1::PacketReason> kReasons = {{"action", v1::PACKET_REASON_ACTION},
                                                          {"no_match", v1::PACKET_REASON_NO_MATCH},
                                                          {"action_set", v1::PACKET_REASON_ACTION_SET},
                                                          {"group", v1::PACKET_REASON_GROUP}};

std::string NameOf(v1::PacketReason reason) {
  const auto known = std::ranges::find(kReasons, reason, [](const auto& each) { return each.second; });
  return known != kReasons.end() ? known->first : absl::StrCat(static_cast<int>(reason));
}

std::string FormatPacket(const v1::Packet& packet) {
  const absl::Time time = absl::FromUnixSeconds(packet.time().seconds()) + absl::Nanoseconds(packet.time().nanos());
  std::string text = absl::FormatTime("%H:%M:%E6S", time, absl::LocalTimeZone());
  absl::StrAppend(&text, " in_port=", packet.in_port());
  if (!packet.in_port_name().empty()) absl::StrAppend(&text, "(", packet.in_port_name(), ")");
  absl::StrAppend(&text, " reason=", NameOf(packet.reason()), " table=", packet.table_id());
  if (packet.flow_id() != 0) absl::StrAppend(&text, " cookie=0x", absl::Hex(packet.cookie()));
  if (packet.metadata() != 0) absl::StrAppend(&text, " metadata=0x", absl::Hex(packet.metadata()));
  for (int i = 0; i < packet.registers_size(); ++i) {
    if (packet.registers(i) != 0) absl::StrAppend(&text, " reg", i, "=0x", absl::Hex(packet.registers(i)));
  }
  absl::StrAppend(&text, " length=", packet.length());
  if (packet.data().size() != packet.length()) absl::StrAppend(&text, " kept=", packet.data().size());
  return absl::StrCat(text, " ", absl::BytesToHexString(packet.data()));
}

int PacketIn(Cli& cli, const v1::WatchPacketsRequest& request, uint64_t count) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  uint64_t seen = 0, dropped = 0;
  const absl::Status status = (*client)->WatchPackets(request, [&](const v1::WatchPacketsResponse& response) {
    for (const v1::Packet& packet : response.packets()) {
      std::cout << (cli.json() ? ToJson(packet) : FormatPacket(packet)) << "\n";
      if (++seen == count) break;
    }
    const uint64_t now = response.dropped_rate() + response.dropped_queue() + response.dropped_worker();
    if (now != dropped) {
      std::cerr << "sluicectl: " << now << " packets missed: " << response.dropped_rate() << " by rate, "
                << response.dropped_queue() << " by queue, " << response.dropped_worker() << " by a worker's queue\n";
    }
    dropped = now;
    return !std::cout.flush().fail() && (count == 0 || seen < count);
  });
  return status.ok() ? kOk : cli.Fail(status);
}

struct PacketOutArguments {
  v1::SendPacketRequest request;
  std::string actions;
  std::string hex;
  std::string file;
};

// Two digits a byte, with or without spaces and colons between bytes.
absl::StatusOr<std::string> BytesOfHex(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == ':'; });
  if (text.size() % 2 != 0 || !std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isxdigit(c); })) {
    return absl::InvalidArgumentError("packet out: the packet is not in hexadecimal; expected two digits a byte");
  }
  return absl::HexStringToBytes(text);
}

absl::StatusOr<std::vector<std::string>> FramesOf(const PacketOutArguments& arguments) {
  if (arguments.hex.empty() == arguments.file.empty()) {
    return absl::InvalidArgumentError("packet out: expected a packet in hexadecimal, or --read FILE");
  }
  if (!arguments.file.empty()) return ReadCaptureFrames(arguments.file);
  const absl::StatusOr<std::string> bytes = BytesOfHex(arguments.hex);
  if (!bytes.ok()) return bytes.status();
  return std::vector{*bytes};
}

// Goes on behind one that is refused.
int SendAll(Cli& cli, Client& client, const v1::SendPacketRequest& as, const std::vector<std::string>& frames) {
  std::map<std::string, uint64_t> drops;
  uint64_t forwarded = 0, refused = 0, answers = 0;
  const auto next = [&as, at = frames.begin(), end = frames.end()](v1::SendPacketRequest& request) mutable {
    if (at == end) return false;
    request = as;
    request.set_data(*at++);
    return true;
  };
  const absl::Status status = client.SendPackets(next, [&](const v1::SendPacketsResponse& response) {
    ++answers;
    if (response.has_error()) {
      ++refused;
      const absl::Status error = ToStatus(response.error());
      cli.Fail(absl::Status(error.code(), absl::StrCat("packet ", answers, ": ", error.message())));
      return;
    }
    const v1::SendPacketResponse& result = response.result();
    if (cli.json()) std::cout << ToJson(result) << "\n";
    result.forwarded() ? ++forwarded : ++drops[result.drop_reason()];
  });
  if (!status.ok()) return cli.Fail(status);
  if (!cli.json()) {
    std::cout << forwarded << " of " << frames.size() << " forwarded";
    for (const auto& [reason, n] : drops) std::cout << ", " << n << " dropped (" << reason << ")";
    if (refused != 0) std::cout << ", " << refused << " refused";
    std::cout << "\n";
  }
  return refused == 0 ? kOk : kRequestFailed;
}

int PacketOut(Cli& cli, const PacketOutArguments& arguments) {
  v1::SendPacketRequest request = arguments.request;
  if (!arguments.actions.empty()) {
    const bool flow = absl::StrContains(arguments.actions, "actions=");
    const absl::StatusOr<FlowText> text =
        cli.ParseArgument(absl::StrCat(flow ? "" : "actions=", arguments.actions), TextUse::kFlow);
    if (!text.ok()) return cli.Misused(text.status());
    *request.mutable_actions() = text->spec.actions();
  }
  const absl::StatusOr<std::vector<std::string>> frames = FramesOf(arguments);
  if (!frames.ok()) return cli.Misused(frames.status());
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  return SendAll(cli, **client, request, *frames);
}

void AddPacketIn(CLI::App* packet, Cli& cli, Action& action) {
  const auto request = std::make_shared<v1::WatchPacketsRequest>();
  const auto count = std::make_shared<uint64_t>(0);
  CLI::App* in = packet->add_subcommand("in", "Print the packets that flows or tables send to controllers");
  const auto number = [in](const char* name, std::function<void(uint32_t)> set, const char* meaning) {
    return in->add_option_function<uint32_t>(
        name, [set = std::move(set)](const uint32_t& n) { set(n); }, meaning);
  };
  number(
      "--max-len", [request](uint32_t n) { request->set_max_len(n); }, "At most so many bytes of each");
  number(
      "--rate", [request](uint32_t n) { request->set_packets_per_second(n); }, "At most so many a second");
  number(
      "--queue", [request](uint32_t n) { request->set_queue(n); }, "At most so many wait in the switch");
  number(
      "--table", [request](uint32_t n) { request->add_table_ids(n); }, "Only from this table");
  number(
      "--in-port", [request](uint32_t n) { request->add_in_ports(n); }, "Only from the port with this number");
  in->add_option_function<std::string>(
        "--reason", [request](const std::string& name) { request->add_reasons(kReasons.at(name)); },
        "Only for this reason: action, no_match, action_set or group")
      ->check(CLI::IsMember(kReasons));
  in->add_option("--count", *count, "End after so many; without it, never");
  in->callback(
      [&action, &cli, request, count] { action = [&cli, request, count] { return PacketIn(cli, *request, *count); }; });
}

}  // namespace

void AddPacketCommands(CLI::App& app, Cli& cli, Action& action) {
  CLI::App* packet = app.add_subcommand("packet", "Packets to and from controllers");
  packet->require_subcommand(1);
  AddPacketIn(packet, cli, action);
  const auto arguments = std::make_shared<PacketOutArguments>();
  CLI::App* out = packet->add_subcommand("out", "Send packets, and say what became of them");
  out->add_option("PACKET", arguments->hex, "The packet in hexadecimal");
  out->add_option("-r,--read", arguments->file, "Send the packets of this capture instead")->type_name("FILE");
  out->add_option_function<uint32_t>(
      "--in-port", [arguments](const uint32_t& n) { arguments->request.set_in_port(n); },
      "As if the port with this number had received it; none if not given");
  out->add_option("--actions", arguments->actions, "What to do, as a flow's actions, for example output:2");
  out->add_flag_callback(
      "--through-tables", [arguments] { arguments->request.set_through_tables(true); },
      "Then lead it through the tables, from table 0 on");
  out->callback([&action, &cli, arguments] { action = [&cli, arguments] { return PacketOut(cli, *arguments); }; });
}

}  // namespace sluice::client
