// Any bytes as flow text: it is read or refused at a place within it; what is
// read is written and read again to the same; and what the switch makes of it,
// where it takes it, is what the text said.
//
// Input: what the text is for and whether ports have names (1 byte), the text.

#include "absl/strings/match.h"
#include "client/flow_text.h"
#include "server/convert.h"
#include "tests/fuzz/client_text.h"
#include "tests/fuzz/input.h"

namespace sluice::fuzz {
namespace {

using client::FlowText;
using client::TextUse;

client::TextOptions OptionsFrom(uint8_t byte) {
  constexpr TextUse kUses[] = {TextUse::kFlow, TextUse::kFlow, TextUse::kChange, TextUse::kSelect};
  client::TextOptions options;
  options.use = kUses[byte % 4];
  if ((byte & 4) != 0) options.port_names = PortNamed;
  return options;
}

void CheckReadsAs(const std::string& text, TextUse use, const v1::FlowSpec& expected) {
  client::TextOptions options;
  options.use = use;
  const absl::StatusOr<FlowText> read = ParseFlow(text, options);
  if (!read.ok()) Fail("what was written is refused: " + text + "\n" + std::string(read.status().message()));
  if (read->spec.SerializeAsString() != expected.SerializeAsString()) {
    Fail("what was written reads otherwise: " + text + "\n" + read->spec.DebugString() + "not\n" +
         expected.DebugString());
  }
}

void CheckWritten(const FlowText& flow, TextUse use) {
  const v1::FlowSpec& spec = flow.spec;
  if (use == TextUse::kSelect) {
    const std::string match = client::FormatMatch(spec.match());
    v1::FlowSpec selected;
    selected.set_priority(client::kDefaultPriority);
    if (spec.has_match()) *selected.mutable_match() = spec.match();
    CheckReadsAs(match, use, selected);
    ToFilter(flow);
    return;
  }
  CheckReadsAs(client::FormatSpec(spec), TextUse::kFlow, spec);
  v1::Flow counted;
  *counted.mutable_spec() = spec;
  counted.mutable_stats()->set_packets(~uint64_t{0});
  counted.mutable_stats()->mutable_last_used_time()->set_seconds(1);
  for (const bool wide : {false, true}) CheckReadsAs(client::FormatFlow(counted, wide, 1e9), TextUse::kFlow, spec);
}

// The conditions are as the switch returns them.
void CheckConverted(const v1::FlowSpec& spec) {
  ViolationList violations;
  FlowInfo flow;
  FlowSpecFromProto(spec, ApiLimits{}, Path("flow"), violations, flow.spec);
  if (!violations.empty()) return;
  v1::Flow out;
  FlowToProto(flow, &out);
  if (!spec.has_match()) out.mutable_spec()->clear_match();
  if (out.spec().SerializeAsString() != spec.SerializeAsString()) {
    Fail("the switch returns\n" + out.spec().DebugString() + "for\n" + spec.DebugString());
  }
}

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  fuzz::Input input(data, size);
  const client::TextOptions options = fuzz::OptionsFrom(input.Byte());
  const std::string text = input.RestAsText();
  const absl::Status lines = client::ForEachFlowLine(text, [](absl::string_view line, int number) {
    if (number < 1 || absl::StrContains(line, '\n')) fuzz::Fail("not a line");
    return absl::OkStatus();
  });
  if (!lines.ok()) fuzz::Fail("lines are refused");
  const absl::StatusOr<client::FlowText> flow = ParseFlow(text, options);
  if (!flow.ok()) {
    fuzz::CheckError(text, flow.status());
  } else {
    fuzz::CheckWritten(*flow, options.use);
    fuzz::CheckConverted(flow->spec);
  }
  return 0;
}
