// Flows as text, in the syntax of ovs-ofctl(8), ovs-fields(7) and
// ovs-actions(7): read into the API's messages and written from them. This is
// the only place in the product that knows the syntax.
//
//   priority=10,tcp,in_port=1,nw_dst=10.0.0.0/8,tp_dst=80,actions=dec_ttl,output:2
//
// What FormatFlow writes, ParseFlow reads to the identical flow, and what
// `ovs-ofctl dump-flows` prints can be read too: durations, counters, ages and
// flags that say nothing to this switch are skipped.
//
// Stricter than ovs-ofctl, which takes these and does something else: a field
// without its protocol (nw_dst without ip), two conditions on one field that
// contradict each other, values beyond a field's size, numbers with a leading
// zero, vlan_vid without its bit 0x1000. Wider:
// push_vlan(TPID,only_if_untagged) is what mod_vlan_vid begins with, a port may be
// a range, tp_dst=1000-2000, both ends inclusive, and inner_vlan_vid, _pcp, _tci and
// _present are the second tag's.
//
// Errors are INVALID_ARGUMENT, "SOURCE:LINE:COLUMN: what; what was expected".
// No state; any thread.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sluice/v1/flow.pb.h"
#include "sluice/v1/flow_service.pb.h"

namespace sluice::client {

// What ovs-ofctl gives a flow that names no priority.
inline constexpr uint32_t kDefaultPriority = 32768;

// What a text is for, which decides what it must and may say.
enum class TextUse {
  kFlow,    // a flow to add: needs actions
  kChange,  // flows to change: needs actions, takes cookie=VALUE/MASK
  kSelect,  // flows to list, read or remove: takes no actions
};

struct TextOptions {
  TextUse use = TextUse::kFlow;
  absl::string_view source = "flow";  // how errors begin: a file's name
  int line = 1;
  // The number of the port of that name; unset: names are not understood.
  std::function<std::optional<uint32_t>(absl::string_view name)> port_names{};
};

struct FlowText {
  // Conditions by ascending field, as the switch returns them. What the text
  // leaves out has its default.
  v1::FlowSpec spec;
  bool has_table = false;
  bool has_priority = false;
  bool has_cookie = false;  // cookie=VALUE
  // cookie=VALUE/MASK: selects by cookie.
  std::optional<std::pair<uint64_t, uint64_t>> cookie_match;
  std::optional<uint32_t> out_port;
  bool check_overlap = false;
  bool reset_counts = false;
};

absl::StatusOr<FlowText> ParseFlow(absl::string_view text, const TextOptions& options);

// The flows that a text selects loosely, as ovs-ofctl's del-flows without
// --strict does; a priority selects as well if the text names one.
v1::FlowFilter ToFilter(const FlowText& text);

// The one flow that a text names: table, priority and match.
v1::FlowKey ToKey(const FlowText& text);

// Calls `visit` for each line that holds a flow: comments (# to the end of the
// line), blank lines and a leading "add " are left out. The line keeps its
// columns. Stops at the first error of `visit`.
absl::Status ForEachFlowLine(absl::string_view text,
                             const std::function<absl::Status(absl::string_view line, int number)>& visit);

// match,… actions=…, with table, cookie and timeouts where they are not zero.
std::string FormatSpec(const v1::FlowSpec& spec);
// The conditions alone, for example "tcp,tp_dst=80"; empty: everything.
std::string FormatMatch(const v1::Match& match);
// The bits of a mask, for example "in_port,nw_dst/8,tp_dst/range"; empty: none.
std::string FormatMask(const v1::Match& mask);
// The actions alone, for example "dec_ttl,output:2" or "drop".
std::string FormatActions(const v1::FlowSpec& spec);

// With counters before it; `wide` adds id, ages (as of now_unix_seconds) and
// what is zero.
std::string FormatFlow(const v1::Flow& flow, bool wide, double now_unix_seconds);

}  // namespace sluice::client
