#include "server/status.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr absl::string_view kTypePrefix = "type.googleapis.com/";
constexpr absl::string_view kEllipsis = "...";

}  // namespace

std::string ShortenText(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit - kEllipsis.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), kEllipsis);
}

void AddDetail(absl::Status& status, const google::protobuf::Message& detail) {
  status.SetPayload(absl::StrCat(kTypePrefix, detail.GetDescriptor()->full_name()),
                    absl::Cord(detail.SerializeAsString()));
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status out;
  out.set_code(status.raw_code());
  out.set_message(std::string(status.message()));
  status.ForEachPayload([&out](absl::string_view type_url, const absl::Cord& payload) {
    auto* detail = out.add_details();
    detail->set_type_url(std::string(type_url));
    detail->set_value(std::string(payload));
  });
  std::sort(out.mutable_details()->begin(), out.mutable_details()->end(),
            [](const auto& a, const auto& b) { return a.type_url() < b.type_url(); });
  return out;
}

WireStatus ToWireStatus(const absl::Status& status) {
  WireStatus wire;
  wire.code = static_cast<int>(status.code());
  if (status.ok()) return wire;
  google::rpc::Status rpc = ToRpcStatus(status);
  wire.message = ShortenText(rpc.message(), kMaxMessageBytes);
  rpc.set_code(wire.code);
  rpc.set_message(wire.message);
  // What is too long goes whole: half a message could not be read.
  while (rpc.details_size() > 0 && rpc.ByteSizeLong() > kMaxDetailBytes) rpc.mutable_details()->RemoveLast();
  if (rpc.details_size() > 0) wire.details = rpc.SerializeAsString();
  return wire;
}

}  // namespace sluice
