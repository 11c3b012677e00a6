#include "client/bulk_load.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice::client {
namespace {

constexpr size_t kMostErrors = 20;
constexpr uint64_t kProgressStep = 2000;

// The line says which flow it is; which item of a batch it was says nothing.
absl::string_view WithoutItem(absl::string_view message) {
  constexpr absl::string_view kCreate = ".create.";
  const size_t at = message.find(kCreate);
  if (!absl::StartsWith(message, "items[") || at == absl::string_view::npos) return message;
  return message.substr(at + kCreate.size());
}

}  // namespace

absl::StatusOr<std::string> ReadText(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(EISDIR)));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || file.bad()) {
    return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno != 0 ? errno : EIO)));
  }
  return std::move(text).str();
}

BulkLoad::BulkLoad(std::string source, const std::string& text, const TextOptions& options)
    : source_(std::move(source)), text_(text), options_(options) {
  options_.source = source_;
}

absl::Status BulkLoad::Check() {
  std::vector<std::string> errors;
  size_t error_count = 0;
  lines_.clear();
  const absl::Status visited = ForEachFlowLine(text_, [&](absl::string_view line, int number) {
    options_.line = number;
    const absl::StatusOr<FlowText> flow = ParseFlow(line, options_);
    lines_.push_back(number);
    if (!flow.ok() && ++error_count <= kMostErrors) errors.emplace_back(flow.status().message());
    return absl::OkStatus();
  });
  flow_count_ = lines_.size();
  if (error_count == 0) return visited;
  if (error_count > errors.size()) errors.push_back(absl::StrCat("and ", error_count - errors.size(), " more errors"));
  return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
}

absl::StatusOr<LoadResult> BulkLoad::Send(Client& client, const std::function<void(const std::string&)>& on_error,
                                          const std::function<void(uint64_t)>& on_progress) {
  FlowWriterOptions writer_options;
  writer_options.on_error = [&](uint64_t index, const absl::Status& error) {
    on_error(absl::StrCat(source_, ":", lines_[index], ": ", WithoutItem(error.message())));
  };
  FlowWriter writer(client, writer_options);
  uint64_t sent = 0;
  absl::Status status = ForEachFlowLine(text_, [&](absl::string_view line, int number) {
    options_.line = number;
    absl::StatusOr<FlowText> flow = ParseFlow(line, options_);
    if (!flow.ok()) return flow.status();
    v1::BatchItem item;
    v1::CreateFlowRequest* create = item.mutable_create();
    create->set_allow_existing(true);
    create->set_check_overlap(flow->check_overlap);
    *create->mutable_flow() = std::move(flow->spec);
    if (++sent % kProgressStep == 0) on_progress(sent);
    return writer.Add(std::move(item));
  });
  if (status.ok()) status = writer.Finish();
  if (!status.ok()) return status;
  on_progress(sent);
  return LoadResult{writer.succeeded(), writer.failed()};
}

}  // namespace sluice::client
