#include "server/violations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/status.h"

namespace sluice {
namespace {

// Leaves room for what protobuf and Any add; see kMaxDetailBytes.
constexpr size_t kMaxListedBytes = kMaxDetailBytes - 1024;
// A field of Violation::path and its kin cost this much beside their text.
constexpr size_t kViolationOverhead = 16;

absl::StatusCode CodeOf(ViolationList::Kind kind) {
  switch (kind) {
    case ViolationList::Kind::kInvalid:
      return absl::StatusCode::kInvalidArgument;
    case ViolationList::Kind::kLimit:
      return absl::StatusCode::kResourceExhausted;
    case ViolationList::Kind::kUnimplemented:
      return absl::StatusCode::kUnimplemented;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

std::string Path::ToString() const {
  std::string text = parent_ == nullptr ? std::string() : absl::StrCat(parent_->ToString(), ".");
  absl::StrAppend(&text, name_);
  if (index_ >= 0) absl::StrAppend(&text, "[", index_, "]");
  return text;
}

void ViolationList::Add(const Path& path, std::string description, Kind kind) {
  gravest_ = count_ == 0 ? kind : std::min(gravest_, kind);
  ++count_;
  if (listed_bytes_ > kMaxListedBytes) return;
  Violation violation{path.ToString(), std::move(description)};
  listed_bytes_ += violation.path.size() + violation.description.size() + kViolationOverhead;
  if (listed_.empty() || listed_bytes_ <= kMaxListedBytes) listed_.push_back(std::move(violation));
}

absl::Status ViolationList::ToStatus() const {
  if (count_ == 0) return absl::OkStatus();
  std::string message = absl::StrCat(listed_[0].path, ": ", listed_[0].description);
  if (count_ > 1) absl::StrAppend(&message, " (and ", count_ - 1, " more)");
  absl::Status status(CodeOf(gravest_), message);
  google::rpc::BadRequest details;
  for (const Violation& violation : listed_) {
    auto* out = details.add_field_violations();
    out->set_field(violation.path);
    out->set_description(violation.description);
  }
  AddDetail(status, details);
  return status;
}

}  // namespace sluice
