// sluicectl packet: in, out.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/capture.h"
#include "client/capture_file.h"
#include "client/cli.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "client/packet_reason.h"

namespace sluice::client {
namespace {

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

// VALUE, of which every bit counts, or VALUE/MASK; decimal, or hexadecimal with 0x.
absl::StatusOr<std::pair<uint64_t, uint64_t>> ParseCookie(const std::string& text) {
  const auto number = [](absl::string_view digits, uint64_t& out) {
    return absl::ConsumePrefix(&digits, "0x") ? absl::SimpleHexAtoi(digits, &out) : absl::SimpleAtoi(digits, &out);
  };
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  uint64_t value = 0, mask = ~uint64_t{0};
  if (!number(parts[0], value) || (parts.size() == 2 && !number(parts[1], mask))) {
    return absl::InvalidArgumentError("no cookie");
  }
  return std::pair(value, mask);
}

void TakeCookie(const std::string& text, v1::WatchPacketsRequest& request) {
  const auto cookie = ParseCookie(text);
  if (!cookie.ok()) return;  // the check says so
  request.set_cookie(cookie->first);
  request.set_cookie_mask(cookie->second);
}

struct PacketInArguments {
  v1::WatchPacketsRequest request;
  uint64_t count = 0;
  std::string file;
};

// Packets to controllers from when the command begins until it ends.
class PacketIn {
 public:
  PacketIn(Cli& cli, const PacketInArguments& arguments) : cli_(cli), arguments_(arguments) {}

  int Run() {
    // First: gRPC's threads, too, leave the signals to it.
    const Interrupt interrupt(absl::InfiniteDuration(), [this] { stop_.Stop(); });
    const absl::StatusOr<Client*> client = cli_.client();
    if (!client.ok()) return cli_.Misused(client.status());
    if (!arguments_.file.empty()) {
      if (const int code = Open(**client); code != kOk) return code;
    }
    const absl::Status status = (*client)->WatchPackets(
        arguments_.request, [this](const v1::WatchPacketsResponse& response) { return Take(response); }, &stop_);
    return End(status);
  }

 private:
  int Open(Client& client) {
    const absl::StatusOr<v1::ListPortsResponse> ports = client.ListPorts();
    if (!ports.ok()) return cli_.Fail(ports.status());
    auto file = CaptureFile::Open(arguments_.file, arguments_.request.max_len());
    if (!file.ok()) return cli_.FailToWrite(file.status());
    file_ = *std::move(file);
    for (const v1::Port& port : ports->ports()) file_->AddPort(port.spec().number(), port.spec().name());
    failure_ = file_->Flush();
    return failure_.ok() ? int{kOk} : cli_.FailToWrite(failure_);
  }

  bool Take(const v1::WatchPacketsResponse& response) {
    for (const v1::Packet& packet : response.packets()) {
      if (file_ != nullptr) {
        file_->Add(packet);
      } else {
        std::cout << (cli_.json() ? ToJson(packet) : FormatPacket(packet)) << "\n";
      }
      if (++seen_ == arguments_.count) break;
    }
    const uint64_t missed = response.dropped_rate() + response.dropped_queue() + response.dropped_worker();
    if (std::exchange(missed_, missed) != missed) {
      missed_text_ =
          absl::StrCat(missed, " packets missed: ", response.dropped_rate(), " by rate, ", response.dropped_queue(),
                       " by queue, ", response.dropped_worker(), " by a worker's queue");
      std::cerr << "sluicectl: " << missed_text_ << "\n";
    }
    return Flush() && seen_ != arguments_.count;
  }

  bool Flush() {
    if (file_ == nullptr) return !std::cout.flush().fail();
    failure_ = file_->Flush();
    return failure_.ok();
  }

  int End(const absl::Status& status) {
    if (file_ != nullptr && failure_.ok()) failure_ = file_->Close(absl::ToUnixNanos(absl::Now()), missed_text_);
    if (!failure_.ok()) return cli_.FailToWrite(failure_);
    return status.ok() ? int{kOk} : cli_.Fail(status);
  }

  Cli& cli_;
  const PacketInArguments& arguments_;
  CallStop stop_;
  std::unique_ptr<CaptureFile> file_;  // null: lines on standard output
  absl::Status failure_;               // of writing
  uint64_t seen_ = 0;
  uint64_t missed_ = 0;
  std::string missed_text_ = "0 packets missed";
};

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
  const auto arguments = std::make_shared<PacketInArguments>();
  v1::WatchPacketsRequest* const request = &arguments->request;
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
        "--reason", [request](const std::string& name) { request->add_reasons(PacketReasons().at(name)); },
        "Only for this reason: " + PacketReasonNames())
      ->check(CLI::IsMember(PacketReasons()));
  in->add_option_function<std::string>(
        "--cookie", [request](const std::string& text) { TakeCookie(text, *request); },
        "Only from flows with this cookie, or these bits of it: VALUE/MASK")
      ->check([](const std::string& text) {
        return ParseCookie(text).status().ok() ? "" : "expected VALUE or VALUE/MASK";
      });
  in->add_option("-c,--count", arguments->count, "End after so many; without it, never");
  in->add_option("-w,--write", arguments->file, "Write pcapng into this file; -: to standard output")
      ->type_name("FILE");
  in->callback([&action, &cli, arguments] { action = [&cli, arguments] { return PacketIn(cli, *arguments).Run(); }; });
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
