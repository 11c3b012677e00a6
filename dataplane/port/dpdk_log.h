// What DPDK and its drivers have to say.
//
// Drivers answer a failed call with -1 and write the reason to the log. While a
// DpdkLogCapture lives, the lines that its thread causes are kept with it, so
// that the reason ends up in the status that the caller gets. Lines that nobody
// captures go to the process's log, warnings as such and the rest at debug level.

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

struct DpdkLogLine {
  bool warning = false;  // or worse
  std::string text;
};

// Takes DPDK's log over, for good. Before rte_eal_init; a second call does nothing.
void TakeOverDpdkLog();

class DpdkLogCapture {
 public:
  DpdkLogCapture();
  ~DpdkLogCapture();
  DpdkLogCapture(const DpdkLogCapture&) = delete;
  DpdkLogCapture& operator=(const DpdkLogCapture&) = delete;

  const std::vector<DpdkLogLine>& lines() const { return lines_; }
  // The status of a call that failed with `error` (errno, may be negative):
  // "<what>: <the lines that tell the reason>". PERMISSION_DENIED if error or the
  // lines speak of it, RESOURCE_EXHAUSTED for want of memory, else `otherwise`.
  absl::Status Failure(absl::string_view what, int error, absl::StatusCode otherwise) const;

 private:
  friend void KeepDpdkLogLine(int level, absl::string_view text);
  std::vector<DpdkLogLine> lines_;
  DpdkLogCapture* outer_;  // captures nest; the innermost gets the lines
};

// The reason in a failed call's lines: warnings of the driver itself if there
// are any, without the names of C functions. Pure.
std::string ReasonIn(const std::vector<DpdkLogLine>& lines);

}  // namespace sluice
