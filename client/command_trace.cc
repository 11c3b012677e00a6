// sluicectl trace: what would become of a packet, and why.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli.h"
#include "client/compose.h"
#include "client/flow_text.h"
#include "client/output.h"

namespace sluice::client {
namespace {

// "0200 0000 …", with or without spaces and colons.
absl::StatusOr<std::string> ParseHex(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == ':' || c == '\n'; });
  const bool right =
      !text.empty() && text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!right) return absl::InvalidArgumentError("the frame is no sequence of bytes in hexadecimal, as 02000000000a…");
  return absl::HexStringToBytes(text);
}

// The port and the fields that a text says.
absl::StatusOr<v1::TracePacketRequest> RequestOf(Cli& cli, const std::string& packet, const std::string& hex) {
  absl::StatusOr<FlowText> text = cli.ParseArgument(packet, TextUse::kSelect);
  if (!text.ok()) return text.status();
  v1::TracePacketRequest request;
  for (const v1::FieldMatch& field : text->spec.match().fields()) {
    if (field.field() == v1::FIELD_IN_PORT) request.set_in_port(static_cast<uint32_t>(field.value()));
  }
  if (request.in_port() == 0) {
    return absl::InvalidArgumentError("the packet needs the port that receives it: in_port=1,…");
  }
  if (hex.empty()) {
    request.set_frame(ComposeFrame(text->spec.match()));
    return request;
  }
  if (text->spec.match().fields_size() != 1) {
    return absl::InvalidArgumentError("a packet that is given by its bytes takes no fields but in_port");
  }
  absl::StatusOr<std::string> frame = ParseHex(hex);
  if (!frame.ok()) return frame.status();
  request.set_frame(*std::move(frame));
  return request;
}

const char* FateName(v1::OutputFate fate) {
  switch (fate) {
    case v1::OUTPUT_FATE_SENT:
      return "sent";
    case v1::OUTPUT_FATE_DOWN:
      return "lost: the port is disabled";
    case v1::OUTPUT_FATE_MTU:
      return "lost: longer than the MTU";
    case v1::OUTPUT_FATE_NO_BUFFERS:
      return "lost: no packet buffer";
    default:
      return "?";
  }
}

const char* MissText(v1::MissPolicy policy) {
  switch (policy) {
    case v1::MISS_POLICY_CONTINUE:
      return "goes on in the next table";
    case v1::MISS_POLICY_CONTROLLER:
      return "goes to controllers";
    default:
      return "dropped";
  }
}

std::string ActionText(const v1::Action& action) {
  v1::FlowSpec spec;
  *spec.add_actions() = action;
  return FormatActions(spec);
}

class TracePrinter {
 public:
  TracePrinter(const v1::TracePacketRequest& request, const v1::TracePacketResponse& response, bool wide)
      : response_(response), frame_(request.frame()), wide_(wide) {}

  void Print() {
    for (const v1::TracedTable& table : response_.tables()) PrintTable(table);
    if (response_.action_set_size() > 0) std::cout << "action set\n";
    for (const v1::TracedAction& action : response_.action_set()) PrintAction(action);
    std::sort(ports_.begin(), ports_.end());
    ports_.erase(std::unique(ports_.begin(), ports_.end()), ports_.end());
    std::cout << Outcome() << "\n";
  }

 private:
  std::string Outcome() const {
    if (!response_.forwarded()) return absl::StrCat("dropped: ", response_.drop_reason());
    std::vector<std::string> to;
    if (!ports_.empty()) to.push_back(absl::StrCat("to port ", absl::StrJoin(ports_, ", ")));
    if (to_controllers_) to.push_back("to controllers");
    return to.empty() ? "forwarded, but lost at its ports" : absl::StrCat("forwarded ", absl::StrJoin(to, " and "));
  }

  void PrintTable(const v1::TracedTable& table) {
    std::cout << "table " << table.table_id() << ": " << FormatMatch(table.packet()) << "\n";
    if (!table.has_flow()) {
      std::cout << "  no flow matches: " << MissText(table.miss_policy()) << "\n";
      to_controllers_ |= table.miss_policy() == v1::MISS_POLICY_CONTROLLER;
    } else {
      std::cout << "  flow " << table.flow().id() << ": " << FormatSpec(table.flow().spec()) << "\n";
    }
    for (const v1::Flow& flow : table.beaten()) {
      std::cout << "    beats flow " << flow.id() << ": " << FormatSpec(flow.spec()) << "\n";
    }
    if (table.beaten_left_out() > 0) std::cout << "    and " << table.beaten_left_out() << " more\n";
    std::cout << "    masks tried: " << table.masks_size() << "\n";
    for (int i = 0; wide_ && i < table.masks_size(); ++i) {
      const std::string bits = FormatMask(table.masks(i));
      std::cout << "      " << (bits.empty() ? "(everything matches)" : bits) << "\n";
    }
    for (const v1::TracedAction& action : table.actions()) PrintAction(action);
  }

  void PrintAction(const v1::TracedAction& action) {
    std::cout << "  " << ActionText(action.action()) << (action.carried_out() ? "\n" : "  (without effect)\n");
    if (action.frame() != frame_) std::cout << "    now " << absl::BytesToHexString(action.frame()) << "\n";
    frame_ = action.frame();
    if (action.to_controllers()) std::cout << "    -> controllers\n";
    to_controllers_ |= action.to_controllers();
    for (const v1::TracedOutput& output : action.outputs()) {
      std::cout << "    -> port " << output.port() << ", " << FateName(output.fate());
      if (output.fate() == v1::OUTPUT_FATE_SENT) {
        std::cout << ", " << output.frame().size() << " bytes";
        ports_.push_back(output.port());
      }
      std::cout << "\n";
    }
  }

  const v1::TracePacketResponse& response_;
  std::string frame_;  // as last shown
  const bool wide_;
  std::vector<uint32_t> ports_;
  bool to_controllers_ = false;
};

int Trace(Cli& cli, const std::string& packet, const std::string& hex) {
  const absl::StatusOr<v1::TracePacketRequest> request = RequestOf(cli, packet, hex);
  if (!request.ok()) return cli.Misused(request.status());
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::TracePacketResponse> response = (*client)->TracePacket(*request);
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    std::cout << ToJson(*response) << "\n";
  } else {
    TracePrinter(*request, *response, cli.wide()).Print();
  }
  return kOk;
}

}  // namespace

void AddTraceCommand(CLI::App& app, Cli& cli, Action& action) {
  struct Arguments {
    std::string packet, hex;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* trace = app.add_subcommand(
      "trace",
      "Tell what would become of a packet: each table, the flow that wins and those it beats, each action with the\n"
      "packet behind it, and what is sent. Nothing is sent or counted. -o wide names the masks.");
  trace
      ->add_option("PACKET", arguments->packet,
                   "As a match: in_port=1,tcp,nw_dst=192.0.2.1,tp_dst=80; in_port= must be there")
      ->required();
  trace->add_option("HEX", arguments->hex, "The frame's bytes, instead of fields");
  trace->callback([&action, &cli, arguments] {
    action = [&cli, arguments] { return Trace(cli, arguments->packet, arguments->hex); };
  });
}

}  // namespace sluice::client
