// Any bytes as the text of a group or a meter: it is read or refused at a place
// within it; what is read is written and read again to the same; and what the
// switch makes of it, where it takes it, is what the text said.
//
// Input: a group or a meter, and whether ports have names (1 byte), the text.

#include "client/group_text.h"
#include "server/convert.h"
#include "tests/fuzz/client_text.h"
#include "tests/fuzz/input.h"

namespace sluice::fuzz {
namespace {

template <typename Spec>
void CheckSame(const char* who, const std::string& text, const absl::StatusOr<Spec>& read, const Spec& expected) {
  if (!read.ok()) Fail(std::string(who) + " refuses " + text + "\n" + std::string(read.status().message()));
  if (read->SerializeAsString() != expected.SerializeAsString()) {
    Fail(std::string(who) + " makes of " + text + "\n" + read->DebugString() + "not\n" + expected.DebugString());
  }
}

void CheckGroup(const v1::GroupSpec& spec) {
  const std::string written = client::FormatGroupSpec(spec);
  CheckSame("the reader", written, client::ParseGroup(written, {}), spec);
  ViolationList violations;
  GroupInfo group;
  GroupSpecFromProto(spec, ApiLimits{}, Path("group"), violations, group.spec);
  if (!violations.empty()) return;
  group.bucket_counts.resize(group.spec.buckets.size(), {~uint64_t{0}, ~uint64_t{0}});
  v1::Group held;
  GroupToProto(group, &held);
  for (const bool wide : {false, true}) {
    const std::string listed = client::FormatGroup(held, wide);
    CheckSame("the reader", listed, client::ParseGroup(listed, {}), held.spec());
  }
}

void CheckMeter(const v1::MeterSpec& spec) {
  const std::string written = client::FormatMeterSpec(spec);
  CheckSame("the reader", written, client::ParseMeter(written, {}), spec);
  ViolationList violations;
  MeterInfo meter;
  MeterSpecFromProto(spec, Path("meter"), violations, meter.spec);
  if (!violations.empty()) return;
  v1::Meter held;
  MeterToProto(meter, &held);
  for (const bool wide : {false, true}) {
    const std::string listed = client::FormatMeter(held, wide);
    CheckSame("the reader", listed, client::ParseMeter(listed, {}), held.spec());
  }
}

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  fuzz::Input input(data, size);
  const uint8_t kind = input.Byte();
  const std::string text = input.RestAsText();
  client::TextOptions options;
  if ((kind & 2) != 0) options.port_names = fuzz::PortNamed;
  if ((kind & 1) == 0) {
    const absl::StatusOr<v1::GroupSpec> group = client::ParseGroup(text, options);
    group.ok() ? fuzz::CheckGroup(*group) : fuzz::CheckError(text, group.status());
  } else {
    const absl::StatusOr<v1::MeterSpec> meter = client::ParseMeter(text, options);
    meter.ok() ? fuzz::CheckMeter(*meter) : fuzz::CheckError(text, meter.status());
  }
  return 0;
}
