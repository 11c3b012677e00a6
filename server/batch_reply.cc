#include "server/batch_reply.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/convert.h"
#include "server/flow_api.h"
#include "server/status.h"

namespace sluice {
namespace {

// A result with the largest numbers and no error text.
constexpr size_t kBareResultBytes = 60;
// What is left of an error's details beside its text and the names of types.
constexpr size_t kErrorBudget = kMaxDetailBytes - kMaxMessageBytes - 256;
// So many failed items are named in the text.
constexpr int kNamedItems = 10;

// The error as far as the budget goes: whole, without details, or its code alone.
google::rpc::Status ErrorWithin(const absl::Status& status, size_t budget, size_t& used) {
  google::rpc::Status error;
  error.set_code(static_cast<int>(status.code()));
  if (used + status.message().size() > budget) return error;
  error = ToRpcStatus(status);
  if (used + error.ByteSizeLong() > budget) error.clear_details();
  if (used + error.ByteSizeLong() > budget) error.clear_message();
  if (!error.message().empty()) used += error.ByteSizeLong();
  return error;
}

// Refused only since another item failed.
bool IsCollateral(const FlowChangeResult& result) { return absl::IsAborted(result.status); }

absl::Status AllRefused(const std::vector<FlowChangeResult>& results) {
  v1::BatchWriteResponse details;
  std::string indices;
  size_t first = 0;
  int failed = 0;
  size_t used = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].status.ok() || IsCollateral(results[i])) continue;
    if (failed++ == 0) first = i;
    if (failed <= kNamedItems) absl::StrAppend(&indices, failed > 1 ? ", " : "", i);
    if (used >= kErrorBudget) continue;
    v1::BatchItemResult result;
    result.set_index(static_cast<uint32_t>(i));
    size_t text = used;
    *result.mutable_error() = ErrorWithin(StatusOf(results[i]), kErrorBudget, text);
    used += result.ByteSizeLong() + 4;
    if (used < kErrorBudget) *details.add_results() = std::move(result);
  }
  details.set_failed_count(failed);
  const absl::Status& error = results[first].status;
  absl::Status status(error.code(),
                      absl::StrCat("item ", first, ": ", ShortenText(error.message(), kMaxMessageBytes / 2),
                                   "; nothing was changed, since ", failed, " of ", results.size(),
                                   " items failed: ", indices, failed > kNamedItems ? ", ..." : ""));
  AddDetail(status, details);
  return status;
}

}  // namespace

absl::Status BatchReply(const v1::BatchWriteRequest& request, BatchMode mode,
                        const std::vector<FlowChangeResult>& results, v1::BatchWriteResponse* response) {
  const auto failed =
      std::count_if(results.begin(), results.end(), [](const FlowChangeResult& result) { return !result.status.ok(); });
  if (failed > 0 && mode == BatchMode::kAllOrNothing) return AllRefused(results);
  const size_t bare = results.size() * kBareResultBytes;
  const size_t budget = FlowApi::kMaxReplyBytes - std::min(bare, FlowApi::kMaxReplyBytes);
  size_t used = 0;
  response->mutable_results()->Reserve(static_cast<int>(results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    v1::BatchItemResult* out = response->add_results();
    out->set_index(static_cast<uint32_t>(i));
    if (!results[i].status.ok()) {
      *out->mutable_error() = ErrorWithin(StatusOf(results[i]), budget, used);
      continue;
    }
    out->set_flow_id(results[i].flow.id);
    if (request.items(static_cast<int>(i)).has_delete_()) FlowStatsToProto(results[i].flow.stats, out->mutable_stats());
  }
  response->set_failed_count(static_cast<uint32_t>(failed));
  return absl::OkStatus();
}

}  // namespace sluice
