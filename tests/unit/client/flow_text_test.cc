// Flow text beyond single flows: the messages that it becomes, filters, files,
// port names, what is printed.

#include "client/flow_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::client {
namespace {

// Not for how they are written.
TEST(FlowText, RefusesByNameWhatThisSwitchWillNeverDo) {
  for (const std::string action :
       {"ct(commit)", "learn(table=1)", "conjunction(1,1/2)", "resubmit:1", "bundle(eth_src,0)", "bundle_load(eth_src)",
        "multipath(eth_src)", "note:aa.bb", "sample(probability=1)"}) {
    const absl::StatusOr<FlowText> flow = ParseFlow("in_port=1,actions=" + action, {});
    EXPECT_THAT(flow.status().message(), testing::HasSubstr("is not supported by this switch")) << action;
  }
}

TEST(FlowText, NamesSourceAndLine) {
  TextOptions options;
  options.source = "flows.txt";
  options.line = 17;
  EXPECT_EQ(ParseFlow("ip,tp_dst=1,actions=", options).status().message(),
            "flows.txt:17:4: tp_dst needs a protocol with ports; write tcp, udp or sctp (or tcp6, udp6, sctp6) too");
}

TEST(FlowText, KnowsPortsByName) {
  TextOptions options;
  options.port_names = [](absl::string_view name) {
    return name == "left" || name == "a b" ? std::optional<uint32_t>(7) : std::nullopt;
  };
  const absl::StatusOr<FlowText> flow =
      ParseFlow("in_port=left,actions=output:left,left,output:\"a b\",\"a b\"", options);
  ASSERT_TRUE(flow.ok()) << flow.status();
  EXPECT_EQ(FormatSpec(flow->spec), "priority=32768,in_port=7 actions=output:7,output:7,output:7,output:7");
  EXPECT_EQ(ParseFlow("in_port=right,actions=", options).status().message(),
            "flow:1:9: in_port: \"right\" is no port; expected a port's number, 1 to 65279, or the name of a port of "
            "this switch");
}

// Numbers as the API wants them, not only text that reads the same.
TEST(FlowText, FillsTheMessages) {
  const absl::StatusOr<FlowText> flow = ParseFlow(
      "cookie=5,table=1,priority=9,tcp,dl_src=02:00:00:00:00:0a,nw_dst=192.0.2.0/24,tp_dst=80,"
      "actions=mod_vlan_vid:7,set_field:192.0.2.1->ip_src,in_port,3",
      {});
  ASSERT_TRUE(flow.ok()) << flow.status();
  const v1::FlowSpec& spec = flow->spec;
  EXPECT_EQ(spec.cookie(), 5u);
  EXPECT_EQ(spec.table_id(), 1u);
  EXPECT_EQ(spec.priority(), 9u);
  ASSERT_EQ(spec.match().fields_size(), 5);
  const auto& fields = spec.match().fields();
  EXPECT_EQ(fields[0].field(), v1::FIELD_ETH_SRC);
  EXPECT_EQ(fields[0].value(), 0x02000000000aull);
  EXPECT_FALSE(fields[0].has_mask());
  EXPECT_EQ(fields[1].field(), v1::FIELD_ETH_TYPE);
  EXPECT_EQ(fields[1].value(), 0x0800u);
  EXPECT_EQ(fields[2].field(), v1::FIELD_IPV4_DST);
  EXPECT_EQ(fields[2].value(), 0xc0000200u);
  EXPECT_EQ(fields[2].mask(), 0xffffff00u);
  EXPECT_EQ(fields[3].field(), v1::FIELD_IP_PROTO);
  EXPECT_EQ(fields[3].value(), 6u);
  EXPECT_EQ(fields[4].field(), v1::FIELD_TCP_DST);
  EXPECT_EQ(fields[4].value(), 80u);
  ASSERT_EQ(spec.actions_size(), 5);
  EXPECT_EQ(spec.actions(0).push_vlan().tpid(), 0x8100u);
  EXPECT_TRUE(spec.actions(0).push_vlan().only_if_untagged());
  EXPECT_EQ(spec.actions(1).set_field().field(), v1::FIELD_VLAN_VID);
  EXPECT_EQ(spec.actions(1).set_field().value(), 7u);
  EXPECT_EQ(spec.actions(2).set_field().value(), 0xc0000201u);
  EXPECT_EQ(spec.actions(3).output().reserved(), v1::RESERVED_PORT_IN_PORT);
  EXPECT_EQ(spec.actions(4).output().port(), 3u);
}

TEST(FlowText, WritesWideFieldsAsBytes) {
  const absl::StatusOr<FlowText> flow = ParseFlow("ipv6,ipv6_src=2001:db8::/32,actions=", {});
  ASSERT_TRUE(flow.ok()) << flow.status();
  const v1::FieldMatch& source = flow->spec.match().fields(1);
  EXPECT_EQ(source.wide_value(), std::string("\x20\x01\x0d\xb8", 4) + std::string(12, '\0'));
  EXPECT_EQ(source.wide_mask(), std::string(4, '\xff') + std::string(12, '\0'));
  EXPECT_EQ(source.value(), 0u);
}

TEST(FlowText, SelectsFlows) {
  TextOptions options;
  options.use = TextUse::kSelect;
  absl::StatusOr<FlowText> text =
      ParseFlow("table=1,priority=5,cookie=0xf3/0xf0,out_port=4,ip,nw_dst=10.0.0.0/8", options);
  ASSERT_TRUE(text.ok()) << text.status();
  v1::FlowFilter filter = ToFilter(*text);
  EXPECT_EQ(filter.table_id(), 1u);
  EXPECT_EQ(filter.priority(), 5u);
  EXPECT_EQ(filter.cookie(), 0xf0u);
  EXPECT_EQ(filter.cookie_mask(), 0xf0u);
  EXPECT_EQ(filter.out_port(), 4u);
  EXPECT_EQ(filter.match().fields_size(), 2);

  text = ParseFlow("", options);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(ToFilter(*text).ByteSizeLong(), 0u) << "everything";
  EXPECT_EQ(ToKey(*text).identity().priority(), kDefaultPriority);

  text = ParseFlow("cookie=7", options);
  ASSERT_TRUE(text.ok());
  filter = ToFilter(*text);
  EXPECT_EQ(filter.cookie(), 7u);
  EXPECT_EQ(filter.cookie_mask(), ~uint64_t{0});
  EXPECT_FALSE(filter.has_priority());
  EXPECT_FALSE(filter.has_table_id());

  EXPECT_EQ(ParseFlow("ip,actions=drop", options).status().message(),
            "flow:1:4: actions select no flows; expected a match alone");
}

// As `ovs-ofctl mod-flows`: the masked cookie selects, the other is the new one.
TEST(FlowText, ChangesFlowsByCookie) {
  TextOptions options;
  options.use = TextUse::kChange;
  const absl::StatusOr<FlowText> text = ParseFlow("cookie=1/-1,cookie=2,actions=drop", options);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(ToFilter(*text).cookie(), 1u);
  EXPECT_EQ(ToFilter(*text).cookie_mask(), ~uint64_t{0});
  EXPECT_TRUE(text->has_cookie);
  EXPECT_EQ(text->spec.cookie(), 2u);
}

TEST(FlowText, FilesHaveCommentsAndBlankLines) {
  std::vector<std::string> seen;
  const absl::Status status = ForEachFlowLine("# head\n\n  in_port=1,actions=2 # tail\r\n\t\nip,actions=\"a#b\"\nlast",
                                              [&](absl::string_view line, int number) {
                                                seen.push_back(std::to_string(number) + "|" + std::string(line));
                                                return absl::OkStatus();
                                              });
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(seen, testing::ElementsAre("3|  in_port=1,actions=2 ", "5|ip,actions=\"a#b\"", "6|last"));
}

TEST(FlowText, PrintsCounters) {
  v1::Flow flow;
  flow.set_id(12);
  flow.mutable_spec()->set_priority(10);
  flow.mutable_stats()->set_packets(3);
  flow.mutable_stats()->set_bytes(180);
  flow.mutable_create_time()->set_seconds(1000);
  EXPECT_EQ(FormatFlow(flow, false, 1010), "n_packets=3, n_bytes=180, priority=10 actions=drop");
  flow.mutable_stats()->mutable_last_used_time()->set_seconds(1004);
  flow.mutable_spec()->set_cookie(255);
  EXPECT_EQ(
      FormatFlow(flow, true, 1010.5),
      "id=12, cookie=0xff, duration=10.500s, table=0, n_packets=3, n_bytes=180, idle_age=6, priority=10 actions=drop");
  for (const bool wide : {false, true}) {
    const absl::StatusOr<FlowText> text = ParseFlow(FormatFlow(flow, wide, 1010), {});
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(text->spec.cookie(), 255u);
    EXPECT_EQ(text->spec.priority(), 10u);
  }
}

TEST(FlowText, PrintsMasks) {
  v1::Match mask;
  const auto add = [&](v1::Field field, uint64_t bits) {
    v1::FieldMatch* match = mask.add_fields();
    match->set_field(field);
    match->set_value(bits);
    match->set_mask(bits);
  };
  add(v1::FIELD_IN_PORT, 0xffffffff);
  add(v1::FIELD_ETH_SRC, 0xffffff000000);
  add(v1::FIELD_VLAN_PRESENT, 1);
  add(v1::FIELD_IPV4_DST, 0xff000000);
  add(v1::FIELD_IP_FRAG, 1);
  add(v1::FIELD_TCP_DST, 0xfff0);
  EXPECT_EQ(FormatMask(mask), "in_port,dl_src/ff:ff:ff:00:00:00,vlan_tci/0x1000,nw_dst/8,nw_frag/1,tp_dst/0xfff0");
}

}  // namespace
}  // namespace sluice::client
