// A pcapng file, or standard output, into which packets of a switch are written
// as they come: an interface for each port, and at the end what was missed.
//
// What is given is written at the next Flush, so that a reader at the other end
// of a pipe sees it. Errors begin with the path; after one nothing more is
// written. The process must ignore SIGPIPE. One thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/pcapng.h"
#include "sluice/v1/capture_service.pb.h"
#include "sluice/v1/packet_service.pb.h"

namespace sluice::client {

// Why the packet came, for people: "dropped: no_flow", "flow 7"; empty: nothing to say.
std::string CommentOf(const v1::CapturedPacket& packet);
std::string CommentOf(const v1::Packet& packet);

// Of a packet's time.
int64_t UnixNanoseconds(const google::protobuf::Timestamp& time);

class CaptureFile {
 public:
  // "-" is standard output, which must be no terminal; another path is made or emptied. snap_length: 0: none.
  // INVALID_ARGUMENT: a terminal; else what the system says.
  static absl::StatusOr<std::unique_ptr<CaptureFile>> Open(const std::string& path, uint32_t snap_length);
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  // A port whose packets may come; of others the name is taken from their first packet.
  void AddPort(uint32_t number, const std::string& name) { InterfaceOf(number, name); }
  void Add(const v1::CapturedPacket& packet);
  void Add(const v1::Packet& packet);
  absl::Status Flush();
  // Writes the rest, and what is known at the end.
  absl::Status Close(int64_t now_unix_ns, const std::string& comment);

 private:
  struct Interface {
    uint32_t number = 0;   // in the file
    uint64_t packets = 0;  // written
  };

  CaptureFile(int file, std::string path, uint32_t snap_length);
  Interface& InterfaceOf(uint32_t port, const std::string& name);

  int file_;  // -1: closed
  const std::string path_;
  PcapngWriter writer_;
  std::map<uint32_t, Interface> interfaces_;  // by port
  absl::Status status_;
};

}  // namespace sluice::client
