// From absl::Status to what a client sees: the one place that decides it.
//
// An error's details are protobuf messages that ride as payloads of the
// absl::Status, by their type URL, and become google.rpc.Status. In a reply's
// trailing metadata they share 8 KiB with everything else (gRPC's default limit
// on the client's side, above which the whole error is lost), so text and
// details are bounded here.
//
// Pure; any thread. Knows no gRPC: server/reply.cc puts the result on the wire.

#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/rpc/status.pb.h"

namespace sluice {

// Bounds that keep an error, percent-encoded and in base64, under 8 KiB.
inline constexpr size_t kMaxMessageBytes = 512;
inline constexpr size_t kMaxDetailBytes = 4096;

// At most `limit` bytes, cut between characters of UTF-8 and then ending in "...".
std::string ShortenText(absl::string_view text, size_t limit);

// Adds a message to the details of an error; one of each type.
void AddDetail(absl::Status& status, const google::protobuf::Message& detail);

// With the whole text and all details, ordered by type.
google::rpc::Status ToRpcStatus(const absl::Status& status);

// An error as gRPC sends it.
struct WireStatus {
  int code = 0;         // canonical
  std::string message;  // at most kMaxMessageBytes
  std::string details;  // google.rpc.Status, serialized, at most kMaxDetailBytes; empty: none
};
WireStatus ToWireStatus(const absl::Status& status);

}  // namespace sluice
