#include "client/replay.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/bulk_load.h"
#include "client/capture.h"
#include "client/daemon.h"

namespace sluice::client {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMaxMtu = 65535;
constexpr uint32_t kMaxPort = 0xfeff;
constexpr uint32_t kMaxChainedBytes = 16000;  // 16,128, less room for VLAN tags
constexpr uint32_t kLongBuffers = 2048;
constexpr absl::Duration kStuck = absl::Seconds(20);  // without any progress

// A folder that nobody else can read and that goes away with this object.
class PrivateFolder {
 public:
  absl::Status Make() {
    std::string pattern = (fs::temp_directory_path() / "sluice-replay-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      return absl::FailedPreconditionError(absl::StrCat(pattern, ": cannot be made"));
    path_ = pattern;
    return absl::OkStatus();
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  std::string Path(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

 private:
  std::string path_;
};

uint64_t Dropped(const v1::PacketTotals& totals) {
  uint64_t dropped = 0;
  for (const auto& [reason, count] : totals.drops()) dropped += count;
  return dropped;
}

std::string Figures(const v1::PacketTotals& totals, uint64_t frames) {
  return absl::StrCat(frames, " frames in the captures, ", totals.received(), " received, ", totals.forwarded(),
                      " forwarded, ", Dropped(totals), " dropped");
}

// A copy that did not get into its file would be missing without a word.
absl::Status CheckSent(const v1::Port& port) {
  for (const auto& [reason, count] : port.stats().transmit_drops()) {
    if (count == 0) continue;
    return absl::DataLossError(
        absl::StrCat("port ", port.spec().number(), " lost ", count, " frames on their way out: ", reason));
  }
  return absl::OkStatus();
}

class Player {
 public:
  explicit Player(const ReplayOptions& options) : options_(options) {}

  absl::StatusOr<ReplayResult> Run(BulkLoad& flows) {
    if (absl::Status status = Prepare(); !status.ok()) return status;
    absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(
        options_.daemon, folder_.Path("."), Config(flows.flow_count()), folder_.Path("sock"), options_.interrupted);
    if (!daemon.ok()) return daemon.status();
    client_ = &(*daemon)->client();
    ReplayResult result;
    if (absl::Status status = PlayAll(flows, &result); !status.ok()) {
      if (absl::IsInvalidArgument(status) || absl::IsCancelled(status)) return status;  // no fault of the switch
      return absl::Status(status.code(), absl::StrCat(status.message(), "\nsluiced said:\n", (*daemon)->Log()));
    }
    // Its files are whole once it has ended.
    if (absl::Status status = (*daemon)->Stop(); !status.ok()) return status;
    if (absl::Status status = WriteFiles(result); !status.ok()) return status;
    return result;
  }

 private:
  std::string OutFile(uint32_t port) const { return absl::StrCat(options_.out_dir, "/port-", port, ".pcap"); }

  // Files have short, plain names in the private folder, since a device's
  // arguments take no commas and the like.
  absl::Status Prepare() {
    if (absl::Status status = folder_.Make(); !status.ok()) return status;
    std::error_code error;
    fs::create_directories(options_.out_dir, error);
    if (!error) fs::create_directory_symlink(fs::absolute(options_.out_dir), folder_.Path("out"), error);
    if (error) return absl::FailedPreconditionError(absl::StrCat(options_.out_dir, ": ", error.message()));
    for (size_t i = 0; i < options_.inputs.size(); ++i) {
      for (uint32_t port = 1; port <= options_.ports; ++port) {
        std::error_code none;
        if (!fs::equivalent(options_.inputs[i].path, OutFile(port), none)) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(options_.inputs[i].path, " would be overwritten; another --out-dir would be right"));
      }
      fs::create_symlink(fs::absolute(options_.inputs[i].path), folder_.Path(absl::StrCat("in-", i)), error);
      if (error) return absl::FailedPreconditionError(absl::StrCat(options_.inputs[i].path, ": ", error.message()));
    }
    return absl::OkStatus();
  }

  std::string Config(uint64_t flows) const {
    const std::string burst = options_.rx_burst > 0 ? absl::StrCat(", rx_burst: ", options_.rx_burst) : "";
    return absl::StrCat("api: {listen: [\"unix://", folder_.Path("sock"), "\"]}\n",
                        "workers: {count: 1, idle: adaptive", burst, "}\n", "memory: {huge_pages: never", Buffers(),
                        "}\n", "limits: {flows: ", std::max<uint64_t>(flows, 1), "}\n");
  }

  // Frames that are too long to be written from a chain of buffers get buffers
  // that hold them whole.
  std::string Buffers() const {
    uint32_t longest = 0;
    for (const ReplayInput& input : options_.inputs) longest = std::max(longest, input.capture.longest);
    if (longest <= kMaxChainedBytes) return "";
    return absl::StrCat(", packet_buffers: ", kLongBuffers, ", packet_buffer_bytes: ", kMaxFrameBytes);
  }

  absl::Status PlayAll(BulkLoad& flows, ReplayResult* result) {
    if (absl::Status status = client_->UpdateSettings(options_.settings).status(); !status.ok()) return status;
    for (uint32_t port = 1; port <= options_.ports; ++port) {
      if (absl::Status status = AddPort(port, NextInput(port, 0)); !status.ok()) return status;
    }
    if (absl::Status status = LoadGroups(); !status.ok()) return status;
    if (absl::Status status = LoadFlows(flows); !status.ok()) return status;
    for (size_t i = 0; i < options_.inputs.size(); ++i) {
      if (absl::Status status = Play(i); !status.ok()) return status;
    }
    const absl::StatusOr<v1::GetSwitchResponse> info = client_->GetSwitch();
    if (!info.ok()) return info.status();
    result->totals = info->totals();
    if (absl::Status status = CheckConservation(result->totals, played_); !status.ok()) return status;
    const absl::StatusOr<v1::ListPortsResponse> ports = client_->ListPorts();
    if (!ports.ok()) return ports.status();
    for (const v1::Port& port : ports->ports()) {
      if (absl::Status status = CheckSent(port); !status.ok()) return status;
    }
    absl::StatusOr<std::vector<v1::Group>> groups = client_->ListGroups();
    if (!groups.ok()) return groups.status();
    result->groups = *std::move(groups);
    absl::StatusOr<std::vector<v1::Meter>> meters = client_->ListMeters();
    if (!meters.ok()) return meters.status();
    result->meters = *std::move(meters);
    return client_->VisitFlows({}, [&](const v1::Flow& flow) {
      result->flows.push_back(flow);
      return absl::OkStatus();
    });
  }

  // And meters.
  absl::Status LoadGroups() {
    for (const v1::GroupSpec& spec : options_.groups) {
      if (absl::Status status = client_->UpdateGroup(spec, true).status(); !status.ok()) return Misfit(status);
    }
    for (const v1::MeterSpec& spec : options_.meters) {
      if (absl::Status status = client_->UpdateMeter(spec, true).status(); !status.ok()) return Misfit(status);
    }
    return absl::OkStatus();
  }

  // What the switch refuses of the input is no fault of the switch.
  static absl::Status Misfit(const absl::Status& status) { return absl::InvalidArgumentError(status.message()); }

  absl::Status LoadFlows(BulkLoad& flows) {
    std::vector<std::string> errors;
    const absl::StatusOr<LoadResult> loaded = flows.Send(
        *client_, [&](const std::string& error) { errors.push_back(error); }, [](uint64_t) {});
    if (!loaded.ok()) return loaded.status();
    if (!errors.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
    return absl::OkStatus();
  }

  // The first input from `from` on that the port receives; none: inputs.size().
  size_t NextInput(uint32_t port, size_t from) const {
    while (from < options_.inputs.size() && options_.inputs[from].port != port) ++from;
    return from;
  }

  absl::Status AddPort(uint32_t port, size_t input) {
    v1::CreatePortRequest request;
    v1::PortSpec* spec = request.mutable_port();
    spec->set_name(absl::StrCat("p", port));
    spec->set_number(port);
    spec->set_mtu(kMaxMtu);
    spec->set_no_receive(true);
    std::vector<std::string>& parts = sent_[port];
    // The first part has the name that is wanted in the end.
    parts.push_back(parts.empty() ? absl::StrCat("port-", port, ".pcap")
                                  : absl::StrCat("port-", port, ".", parts.size(), ".pcap"));
    spec->mutable_pcap()->set_tx_file(folder_.Path(absl::StrCat("out/", parts.back())));
    if (input < options_.inputs.size()) spec->mutable_pcap()->set_rx_file(folder_.Path(absl::StrCat("in-", input)));
    return client_->CreatePort(request).status();
  }

  absl::Status Receive(uint32_t port, bool receive) {
    v1::UpdatePortRequest request;
    request.mutable_key()->set_number(port);
    request.set_receive(receive);
    return client_->UpdatePort(request).status();
  }

  absl::Status Play(size_t index) {
    const ReplayInput& input = options_.inputs[index];
    if (!started_.insert(input.port).second) {
      v1::DeletePortRequest request;
      request.mutable_key()->set_number(input.port);
      const absl::StatusOr<v1::DeletePortResponse> deleted = client_->DeletePort(request);
      if (!deleted.ok()) return deleted.status();
      if (absl::Status status = CheckSent(deleted->port()); !status.ok()) return status;
      if (absl::Status status = AddPort(input.port, index); !status.ok()) return status;
    }
    if (absl::Status status = Receive(input.port, true); !status.ok()) return status;
    played_ += input.capture.frames;
    if (absl::Status status = WaitForEnd(input); !status.ok()) return status;
    return Receive(input.port, false);
  }

  // Waits until all frames so far are received and accounted for.
  absl::Status WaitForEnd(const ReplayInput& input) {
    absl::Time last_progress = absl::Now();
    absl::Duration pause = absl::Milliseconds(1);
    uint64_t seen = 0;
    while (true) {
      const absl::StatusOr<v1::GetSwitchResponse> info = client_->GetSwitch();
      if (!info.ok()) return info.status();
      const v1::PacketTotals& totals = info->totals();
      const uint64_t accounted = totals.forwarded() + Dropped(totals);
      if (totals.received() == played_ && accounted == played_) return absl::OkStatus();
      if (options_.interrupted()) return absl::CancelledError("interrupted");
      if (totals.received() + accounted != seen) last_progress = absl::Now();
      seen = totals.received() + accounted;
      if (totals.received() > played_ || absl::Now() - last_progress > kStuck) {
        return absl::DataLossError(
            absl::StrCat(input.path, " at port ", input.port, " did not come to its end: ", Figures(totals, played_)));
      }
      absl::SleepFor(pause);
      pause = std::min(pause * 2, absl::Milliseconds(20));
    }
  }

  absl::Status WriteFiles(const ReplayResult& result) {
    for (const auto& [port, parts] : sent_) {
      std::error_code error;
      std::vector<std::string> paths;
      for (const std::string& part : parts) {
        paths.push_back(folder_.Path(absl::StrCat("out/", part)));
        // A port that sent nothing may have left an empty file, or none.
        if (!fs::exists(paths.back()) || fs::file_size(paths.back(), error) == 0) paths.pop_back();
      }
      if (paths.size() == 1 && parts.size() == 1) continue;
      const std::string joined = folder_.Path(absl::StrCat("out/port-", port, ".joined"));
      if (absl::Status status = JoinCaptures(paths, joined); !status.ok()) return status;
      for (const std::string& part : parts) fs::remove(folder_.Path(absl::StrCat("out/", part)), error);
      fs::rename(joined, OutFile(port), error);
      if (error) return absl::FailedPreconditionError(absl::StrCat(OutFile(port), ": ", error.message()));
    }
    const std::string json = absl::StrCat(options_.out_dir, "/flows.json");
    if (!(std::ofstream(json) << ReplayJson(result)))
      return absl::FailedPreconditionError(absl::StrCat(json, ": cannot be written"));
    return absl::OkStatus();
  }

  const ReplayOptions& options_;
  PrivateFolder folder_;
  Client* client_ = nullptr;
  std::map<uint32_t, std::vector<std::string>> sent_;  // what each port wrote, in order
  std::set<uint32_t> started_;                         // ports that have received
  uint64_t played_ = 0;                                // frames
};

}  // namespace

absl::StatusOr<ReplayInput> ParseReplayInput(const std::string& text) {
  const size_t equals = text.find('=');
  ReplayInput input;
  if (equals == std::string::npos || !absl::SimpleAtoi(text.substr(0, equals), &input.port) || input.port < 1 ||
      input.port > kMaxPort || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--in ", text, ": expected PORT=CAPTURE, with a port from 1 to ", kMaxPort));
  }
  input.path = text.substr(equals + 1);
  const absl::StatusOr<CaptureInfo> capture = ReadCapture(input.path);
  if (!capture.ok()) return capture.status();
  input.capture = *capture;
  return input;
}

absl::StatusOr<ReplayResult> Replay(const ReplayOptions& options, BulkLoad& flows) {
  return Player(options).Run(flows);
}

absl::Status CheckConservation(const v1::PacketTotals& totals, uint64_t frames) {
  if (totals.received() == frames && totals.received() == totals.forwarded() + Dropped(totals)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("packets are missing: ", Figures(totals, frames)));
}

}  // namespace sluice::client
