#include "client/capture_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/packet_reason.h"

namespace sluice::client {
namespace {

constexpr char kApplication[] = "sluicectl";
constexpr char kStandardOutput[] = "standard output";

absl::Status Failed(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

using Direction = PcapngWriter::Direction;

Direction DirectionOf(const v1::CapturedPacket& packet) {
  const bool out = packet.direction() == v1::CAPTURE_DIRECTION_OUT || packet.on_way_out();
  return out ? Direction::kOutbound : Direction::kInbound;
}

}  // namespace

std::string CommentOf(const v1::CapturedPacket& packet) {
  if (packet.direction() == v1::CAPTURE_DIRECTION_DROPPED) {
    return absl::StrCat(packet.on_way_out() ? "dropped on the way out: " : "dropped: ", packet.drop_reason());
  }
  return packet.flow_id() != 0 ? absl::StrCat("flow ", packet.flow_id()) : "";
}

std::string CommentOf(const v1::Packet& packet) {
  std::string text = absl::StrCat("reason=", NameOf(packet.reason()), " table=", packet.table_id());
  if (packet.flow_id() != 0) {
    absl::StrAppend(&text, " flow=", packet.flow_id(), " cookie=0x", absl::Hex(packet.cookie()));
  }
  return text;
}

int64_t UnixNanoseconds(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000'000'000 + time.nanos();
}

absl::StatusOr<std::unique_ptr<CaptureFile>> CaptureFile::Open(const std::string& path, uint32_t snap_length) {
  if (path != "-") {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return Failed(path);
    return std::unique_ptr<CaptureFile>(new CaptureFile(file, path, snap_length));
  }
  if (isatty(STDOUT_FILENO) == 1) {
    return absl::InvalidArgumentError("standard output is a terminal, and packets are no text; name a file or a pipe");
  }
  return std::unique_ptr<CaptureFile>(new CaptureFile(STDOUT_FILENO, kStandardOutput, snap_length));
}

CaptureFile::CaptureFile(int file, std::string path, uint32_t snap_length)
    : file_(file), path_(std::move(path)), writer_(kApplication, snap_length) {}

CaptureFile::~CaptureFile() {
  if (file_ >= 0) close(file_);
}

CaptureFile::Interface& CaptureFile::InterfaceOf(uint32_t port, const std::string& name) {
  const auto [at, is_new] = interfaces_.try_emplace(port);
  if (is_new) {
    const std::string other = port == 0 ? "none" : absl::StrCat("port ", port);
    at->second.number = writer_.AddInterface(name.empty() ? other : name);
  }
  return at->second;
}

void CaptureFile::Add(const v1::CapturedPacket& packet) {
  Interface& interface = InterfaceOf(packet.port(), packet.port_name());
  ++interface.packets;
  writer_.AddPacket({.interface = interface.number,
                     .time_unix_ns = UnixNanoseconds(packet.time()),
                     .length = packet.length(),
                     .data = packet.data(),
                     .direction = DirectionOf(packet),
                     .comment = CommentOf(packet)});
}

void CaptureFile::Add(const v1::Packet& packet) {
  Interface& interface = InterfaceOf(packet.in_port(), packet.in_port_name());
  ++interface.packets;
  writer_.AddPacket({.interface = interface.number,
                     .time_unix_ns = UnixNanoseconds(packet.time()),
                     .length = packet.length(),
                     .data = packet.data(),
                     .direction = Direction::kInbound,
                     .comment = CommentOf(packet)});
}

absl::Status CaptureFile::Flush() {
  const std::string bytes = writer_.Take();
  for (size_t done = 0; status_.ok() && done < bytes.size();) {
    const ssize_t n = write(file_, bytes.data() + done, bytes.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      status_ = Failed(path_);
    }
  }
  return status_;
}

absl::Status CaptureFile::Close(int64_t now_unix_ns, const std::string& comment) {
  for (const auto& [port, interface] : interfaces_) {
    writer_.AddStatistics(interface.number, now_unix_ns, interface.packets, comment);
  }
  if (absl::Status status = Flush(); !status.ok()) return status;
  if (close(std::exchange(file_, -1)) != 0) status_ = Failed(path_);
  return status_;
}

}  // namespace sluice::client
