// What is written is read to the identical flow, for random flows made from the
// fields' descriptions; and whatever else comes in, the parser gives an answer.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "client/field_table.h"
#include "client/flow_text.h"
#include "tests/unit/client/random_flow.h"

namespace sluice::client {
namespace {

constexpr int kFlows = 20000;

TEST(FlowTextRandom, RoundTrip) {
  RandomFlow flows(20240501);
  std::map<v1::Field, int> matched, set;
  for (int i = 0; i < kFlows; ++i) {
    const v1::FlowSpec spec = flows.Next();
    const std::string text = FormatSpec(spec);
    const absl::StatusOr<FlowText> read = ParseFlow(text, {});
    ASSERT_TRUE(read.ok()) << text << "\n" << read.status();
    ASSERT_EQ(read->spec.SerializeAsString(), spec.SerializeAsString()) << text << "\nread as\n"
                                                                        << read->spec.DebugString() << "\nnot as\n"
                                                                        << spec.DebugString();
    for (const v1::FieldMatch& match : spec.match().fields()) ++matched[match.field()];
    for (const v1::Action& action : spec.actions()) {
      if (action.has_set_field()) ++set[action.set_field().field()];
    }
  }
  // The flows were worth it.
  for (const FieldInfo& field : AllFields()) {
    EXPECT_GT(matched[field.id], 100) << field.options.name();
    if (field.options.writable()) EXPECT_GT(set[field.id], 20) << field.options.name();
  }
}

TEST(FlowTextRandom, RoundTripWithCounters) {
  RandomFlow flows(7);
  for (int i = 0; i < 1000; ++i) {
    v1::Flow flow;
    *flow.mutable_spec() = flows.Next();
    flow.set_id(i + 1);
    flow.mutable_stats()->set_packets(i);
    flow.mutable_stats()->mutable_last_used_time()->set_seconds(i);
    for (const bool wide : {false, true}) {
      const absl::StatusOr<FlowText> read = ParseFlow(FormatFlow(flow, wide, 2000), {});
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_EQ(read->spec.SerializeAsString(), flow.spec().SerializeAsString());
    }
  }
}

// Every error has a place inside the text, whatever the text is.
TEST(FlowTextRandom, DamagedTextIsReadOrRefusedInPlace) {
  constexpr char kLetters[] = ",=:()[]\"/-> \tx0159af.*#actionsset_field";
  RandomFlow flows(99);
  std::mt19937 random(99);
  int refused = 0;
  for (int i = 0; i < kFlows; ++i) {
    std::string text = FormatSpec(flows.Next());
    for (unsigned n = random() % 4 + 1; n > 0 && !text.empty(); --n) {
      const size_t at = random() % text.size();
      const char letter = kLetters[random() % (sizeof kLetters - 1)];
      switch (random() % 3) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.erase(at, random() % 5 + 1);
          break;
        default:
          text.insert(at, 1, letter);
      }
    }
    const absl::StatusOr<FlowText> read = ParseFlow(text, {});
    if (read.ok()) continue;
    ++refused;
    int column = 0;
    ASSERT_EQ(std::sscanf(std::string(read.status().message()).c_str(), "flow:1:%d: ", &column), 1) << read.status();
    ASSERT_GE(column, 1) << text;
    ASSERT_LE(column, static_cast<int>(text.size()) + 1) << text << "\n" << read.status();
  }
  EXPECT_GT(refused, kFlows / 4);
  EXPECT_LT(refused, kFlows);
}

}  // namespace
}  // namespace sluice::client
