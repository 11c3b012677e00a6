#include "dataplane/port/dpdk_log.h"

#include <rte_log.h>
#include <spdlog/spdlog.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sluice {

// Lines of one log call arrive in the thread that made it, one write a call.
void KeepDpdkLogLine(int level, absl::string_view text);

namespace {

thread_local DpdkLogCapture* innermost = nullptr;

// Said whenever something else has gone wrong, or always.
constexpr absl::string_view kEmptyPhrases[] = {
    "EAL: Driver cannot attach",      "EAL: Failed to attach device",  "EAL: Failed to hotplug",
    "failed to initialize",           "failed to create multiq qdisc", "Disabling rte flow support",
    "All rt-signals are in use",      "No Rx trigger signal",          "Failed to create pmd for",
    "Unable to create TAP interface", "TAP Unable to initialize"};

bool IsEmptyPhrase(absl::string_view text) {
  for (absl::string_view phrase : kEmptyPhrases) {
    if (absl::StrContains(text, phrase)) return true;
  }
  return false;
}

// "tun_alloc(): Unable ..." -> "Unable ..."
absl::string_view WithoutFunction(absl::string_view text) {
  const size_t end = text.find("(): ");
  if (end == absl::string_view::npos) return text;
  for (char c : text.substr(0, end)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return text;
  }
  return text.substr(end + 4);
}

ssize_t WriteLog(void*, const char* data, size_t size) {
  KeepDpdkLogLine(rte_log_cur_msg_loglevel(), absl::string_view(data, size));
  return static_cast<ssize_t>(size);
}

void ToProcessLog(int level, const std::string& text) {
  spdlog::log(level <= static_cast<int>(RTE_LOG_WARNING) ? spdlog::level::warn : spdlog::level::debug, "dpdk: {}",
              text);
}

bool SpeaksOf(int error, absl::string_view reason) { return absl::StrContains(reason, strerrordesc_np(error)); }

}  // namespace

void KeepDpdkLogLine(int level, absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    DpdkLogLine kept{.warning = level <= static_cast<int>(RTE_LOG_WARNING),
                     .text = std::string(absl::StripAsciiWhitespace(line))};
    if (innermost != nullptr) {
      innermost->lines_.push_back(std::move(kept));
    } else {
      ToProcessLog(level, kept.text);
    }
  }
}

void TakeOverDpdkLog() {
  static FILE* const stream = [] {
    FILE* file = fopencookie(nullptr, "w", {.read = nullptr, .write = WriteLog, .seek = nullptr, .close = nullptr});
    // With a buffer, lines of two threads would come out in either's name.
    if (file != nullptr) setvbuf(file, nullptr, _IONBF, 0);
    return file;
  }();
  if (stream != nullptr) rte_openlog_stream(stream);
}

DpdkLogCapture::DpdkLogCapture() : outer_(innermost) { innermost = this; }

DpdkLogCapture::~DpdkLogCapture() {
  innermost = outer_;
  for (const DpdkLogLine& line : lines_) spdlog::debug("dpdk: {}", line.text);
}

absl::Status DpdkLogCapture::Failure(absl::string_view what, int error, absl::StatusCode otherwise) const {
  error = std::abs(error);
  std::string reason = ReasonIn(lines_);
  // Drivers return a bare -1, which is no EPERM.
  if (error == EPERM) error = 0;
  if (reason.empty()) reason = error != 0 ? strerrordesc_np(error) : "the driver gives no reason";
  absl::StatusCode code = otherwise;
  if (error == EACCES || SpeaksOf(EPERM, reason) || SpeaksOf(EACCES, reason)) {
    code = absl::StatusCode::kPermissionDenied;
  } else if (error == ENOMEM || error == ENOSPC || SpeaksOf(ENOMEM, reason)) {
    code = absl::StatusCode::kResourceExhausted;
  }
  return absl::Status(code, absl::StrCat(what, ": ", reason));
}

std::string ReasonIn(const std::vector<DpdkLogLine>& lines) {
  std::vector<absl::string_view> driver;
  std::vector<absl::string_view> any;
  for (const DpdkLogLine& line : lines) {
    if (!line.warning) continue;
    any.push_back(WithoutFunction(line.text));
    if (!IsEmptyPhrase(line.text)) driver.push_back(any.back());
  }
  return absl::StrJoin(driver.empty() ? any : driver, "; ");
}

}  // namespace sluice
