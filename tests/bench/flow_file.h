// What the programs that send flows to a switch share.

#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/bulk_load.h"
#include "client/flow_text.h"

namespace sluice::client {

inline int Fail(const char* program, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", program, std::string(status.message()).c_str());
  return 1;
}

// The flows of a file in ovs-ofctl's syntax.
inline absl::StatusOr<std::vector<v1::FlowSpec>> ReadFlows(const std::string& path) {
  absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  std::vector<v1::FlowSpec> flows;
  TextOptions options{.source = path};
  const absl::Status status = ForEachFlowLine(*text, [&](absl::string_view line, int number) {
    options.line = number;
    absl::StatusOr<FlowText> flow = ParseFlow(line, options);
    if (flow.ok()) flows.push_back(std::move(flow->spec));
    return flow.status();
  });
  if (!status.ok()) return status;
  return flows;
}

}  // namespace sluice::client
