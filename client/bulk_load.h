// Loads flows from text in bulk: all of it is read before anything is sent, so
// that a typing error changes nothing; then it is sent in batches, in the order
// of the lines. Of lines with the same table, priority and match the last wins.
//
// One thread.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/flow_text.h"

namespace sluice::client {

// A file's content; "-": standard input. NOT_FOUND and others with the path.
absl::StatusOr<std::string> ReadText(const std::string& path);

struct LoadResult {
  uint64_t loaded = 0;
  uint64_t failed = 0;
};

class BulkLoad {
 public:
  // `source` names the text in errors; `text` outlives the object.
  BulkLoad(std::string source, const std::string& text, const TextOptions& options);

  // Reads every line and counts the flows. On errors: INVALID_ARGUMENT with the
  // first of them, a line each.
  absl::Status Check();
  uint64_t flow_count() const { return flow_count_; }

  // Sends the flows. on_error gets the errors of single flows, each with its
  // line; on_progress how many have been added so far, now and then.
  absl::StatusOr<LoadResult> Send(Client& client, const std::function<void(const std::string& error)>& on_error,
                                  const std::function<void(uint64_t sent)>& on_progress);

 private:
  std::string source_;
  const std::string& text_;
  TextOptions options_;
  uint64_t flow_count_ = 0;
  std::vector<int> lines_;  // by flow
};

}  // namespace sluice::client
