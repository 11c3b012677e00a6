// What is wrong with a request: every offending field with its path, gathered
// before anything is refused, and turned into one absl::Status.
//
// The path costs nothing until something is wrong: it is a chain of pointers on
// the stack of whoever walks the request, and becomes text only for a violation.
//
// Value types; each belongs to the thread that walks the request.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// A place in a request. Outlived by its parent and by the text of its name.
class Path {
 public:
  explicit Path(absl::string_view name, int index = -1) : Path(nullptr, name, index) {}
  Path(const Path& parent, absl::string_view name, int index = -1) : Path(&parent, name, index) {}
  // A parent that is null is the request itself.
  Path(const Path* parent, absl::string_view name, int index = -1) : parent_(parent), name_(name), index_(index) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  // For example "flow.match.fields[2].mask".
  std::string ToString() const;

 private:
  const Path* parent_;
  absl::string_view name_;
  int index_;  // of a repeated field; -1: none
};

class ViolationList {
 public:
  enum class Kind {
    kInvalid,        // INVALID_ARGUMENT
    kLimit,          // RESOURCE_EXHAUSTED
    kUnimplemented,  // UNIMPLEMENTED: right, but not in this version
  };

  // The description says what is wrong and what would be right.
  void Add(const Path& path, std::string description, Kind kind = Kind::kInvalid);
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }

  // OK if there is none. Else the gravest kind's code (in the order above), the
  // first violation as text and a google.rpc.BadRequest with all that fit into
  // the details of an error.
  absl::Status ToStatus() const;

 private:
  struct Violation {
    std::string path;
    std::string description;
  };

  std::vector<Violation> listed_;  // the first ones; the others are only counted
  size_t listed_bytes_ = 0;
  size_t count_ = 0;
  Kind gravest_ = Kind::kUnimplemented;
};

}  // namespace sluice
