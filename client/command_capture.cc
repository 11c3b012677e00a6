// sluicectl capture: packets as ports or a flow see them, a line each or as pcapng.

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/capture_file.h"
#include "client/cli.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "client/port_table.h"

namespace sluice::client {
namespace {

const std::map<std::string, v1::CaptureDirection> kDirections = {
    {"in", v1::CAPTURE_DIRECTION_IN}, {"out", v1::CAPTURE_DIRECTION_OUT}, {"dropped", v1::CAPTURE_DIRECTION_DROPPED}};

// What the command's options are read into.
struct CaptureArguments {
  std::string port;
  std::vector<std::string> directions;
  uint64_t flow_id = 0;
  std::string filter;
  uint32_t snap_length = 0;
  uint64_t count = 0;
  double seconds = 0;
  std::string file;
};

std::string NameOf(v1::CaptureDirection direction) {
  for (const auto& [name, value] : kDirections) {
    if (value == direction) return name;
  }
  return direction == v1::CAPTURE_DIRECTION_MATCHED ? "matched" : absl::StrCat(static_cast<int>(direction));
}

std::string Line(const v1::CapturedPacket& packet) {
  const absl::Time time = absl::FromUnixNanos(UnixNanoseconds(packet.time()));
  std::string text = absl::FormatTime("%H:%M:%E9S", time, absl::LocalTimeZone());
  absl::StrAppend(&text, " ", NameOf(packet.direction()), " port=", packet.port());
  if (!packet.port_name().empty()) absl::StrAppend(&text, "(", packet.port_name(), ")");
  if (packet.flow_id() != 0) absl::StrAppend(&text, " flow=", packet.flow_id());
  if (!packet.drop_reason().empty()) absl::StrAppend(&text, " reason=", packet.drop_reason());
  if (packet.on_way_out()) absl::StrAppend(&text, " (on the way out)");
  absl::StrAppend(&text, " length=", packet.length());
  if (packet.data().size() != packet.length()) absl::StrAppend(&text, " kept=", packet.data().size());
  return absl::StrCat(text, " ", absl::BytesToHexString(packet.data()));
}

// One capture from its beginning to its end.
class CaptureRun {
 public:
  CaptureRun(Cli& cli, const CaptureArguments& arguments) : cli_(cli), arguments_(arguments) {}

  int Run() {
    const absl::Duration time = arguments_.seconds > 0 ? absl::Seconds(arguments_.seconds) : absl::InfiniteDuration();
    // First: gRPC's threads, too, leave the signals to it.
    const Interrupt interrupt(time, [this] { stop_.Stop(); });
    const absl::StatusOr<v1::CaptureRequest> request = Request();
    if (!request.ok()) return cli_.Misused(request.status());
    const absl::StatusOr<Client*> client = cli_.client();
    if (!client.ok()) return cli_.Misused(client.status());
    absl::StatusOr<v1::ListPortsResponse> ports = (*client)->ListPorts();
    if (!ports.ok()) return cli_.Fail(ports.status());
    ports_ = *std::move(ports);
    const absl::Status status = (*client)->Capture(
        *request, [this](const v1::CaptureResponse& message) { return Take(message); }, &stop_);
    return End(status);
  }

 private:
  absl::StatusOr<v1::CaptureRequest> Request() {
    v1::CaptureRequest request;
    if (!arguments_.port.empty()) *request.mutable_port() = PortKeyOf(arguments_.port);
    if (arguments_.flow_id != 0) request.set_flow_id(arguments_.flow_id);
    for (const std::string& direction : arguments_.directions) request.add_directions(kDirections.at(direction));
    request.set_snap_length(arguments_.snap_length);
    if (arguments_.filter.empty()) return request;
    absl::StatusOr<FlowText> text = cli_.ParseArgument(arguments_.filter, TextUse::kSelect);
    if (!text.ok()) return text.status();
    if (text->has_table || text->has_priority || text->cookie_match.has_value() || text->out_port.has_value()) {
      return absl::InvalidArgumentError(
          "--filter: table, priority, cookie and out_port are of flows; expected what a packet is, for example "
          "tcp,tp_dst=80");
    }
    *request.mutable_filter() = std::move(*text->spec.mutable_match());
    return request;
  }

  // The switch captures: so there is something to write.
  bool Begin() {
    begun_ = true;
    std::cerr << "capturing; Ctrl-C ends it\n";
    if (arguments_.file.empty()) return true;
    absl::StatusOr<std::unique_ptr<CaptureFile>> file = CaptureFile::Open(arguments_.file, arguments_.snap_length);
    failure_ = file.status();
    if (!file.ok()) return false;
    file_ = *std::move(file);
    for (const v1::Port& port : ports_.ports()) {
      const v1::PortSpec& spec = port.spec();
      const bool wanted =
          arguments_.port.empty() || arguments_.port == spec.name() || arguments_.port == absl::StrCat(spec.number());
      if (wanted) file_->AddPort(spec.number(), spec.name());
    }
    return Flush();
  }

  bool Take(const v1::CaptureResponse& message) {
    if (!begun_ && !Begin()) return false;
    for (const v1::CapturedPacket& packet : message.packets()) {
      if (Done()) break;
      if (file_ != nullptr) {
        file_->Add(packet);
      } else {
        std::cout << (cli_.json() ? ToJson(packet) : Line(packet)) << "\n";
      }
      ++captured_;
    }
    missed_worker_ = message.missed_worker();
    missed_queue_ = message.missed_queue();
    return Flush() && !Done();
  }

  bool Done() const { return arguments_.count != 0 && captured_ == arguments_.count; }

  // What is written so far is there for whoever reads on.
  bool Flush() {
    if (file_ == nullptr) return !std::cout.flush().fail();
    failure_ = file_->Flush();
    return failure_.ok();
  }

  std::string Missed() const {
    const uint64_t missed = missed_worker_ + missed_queue_;
    if (missed == 0) return "0 missed";
    return absl::StrCat(missed, " missed (", missed_worker_, " by a worker's ring, ", missed_queue_,
                        " by this caller's queue)");
  }

  int End(const absl::Status& status) {
    if (file_ != nullptr && failure_.ok()) {
      failure_ = file_->Close(absl::ToUnixNanos(absl::Now()), absl::StrCat("packets of the capture: ", Missed()));
    }
    if (begun_) std::cerr << captured_ << " packets captured, " << Missed() << "\n";
    if (!failure_.ok()) return cli_.FailToWrite(failure_);
    return status.ok() ? int{kOk} : cli_.Fail(status);
  }

  Cli& cli_;
  const CaptureArguments& arguments_;
  CallStop stop_;
  v1::ListPortsResponse ports_;
  std::unique_ptr<CaptureFile> file_;  // null: lines on standard output
  absl::Status failure_;               // of writing
  bool begun_ = false;
  uint64_t captured_ = 0;
  uint64_t missed_worker_ = 0;
  uint64_t missed_queue_ = 0;
};

}  // namespace

void AddCaptureCommand(CLI::App& app, Cli& cli, Action& action) {
  const auto arguments = std::make_shared<CaptureArguments>();
  CLI::App* capture = app.add_subcommand("capture", "Capture packets as ports or a flow see them, until Ctrl-C");
  CLI::Option* port = capture->add_option("--port", arguments->port, "Of this port, by name or number; else of all")
                          ->type_name("NAME|NUMBER");
  CLI::Option* directions =
      capture->add_option("--direction", arguments->directions, "in, out or dropped, or several; else all")
          ->delimiter(',')
          ->check(CLI::IsMember(kDirections));
  capture->add_option("--flow", arguments->flow_id, "As the flow with this id matches them, before its actions")
      ->check(CLI::PositiveNumber)
      ->excludes(port)
      ->excludes(directions);
  capture->add_option("--filter", arguments->filter, "Only these, written as a flow's match: tcp,tp_dst=80");
  capture->add_option("--snaplen", arguments->snap_length, "At most so many bytes of each")->check(CLI::PositiveNumber);
  capture->add_option("-c,--count", arguments->count, "End after so many packets")->check(CLI::PositiveNumber);
  capture->add_option("--duration", arguments->seconds, "End after so many seconds")->check(CLI::PositiveNumber);
  capture->add_option("-w,--write", arguments->file, "Write pcapng into this file; -: to standard output")
      ->type_name("FILE");
  capture->callback(
      [&action, &cli, arguments] { action = [&cli, arguments] { return CaptureRun(cli, *arguments).Run(); }; });
}

}  // namespace sluice::client
