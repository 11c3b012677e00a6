// Flows and their actions.

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/convert.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::BadRequestOf;
using ::testing::ElementsAre;
using testing::FieldsOf;
using ::testing::HasSubstr;
using testing::kArp;
using testing::kIpv4;
using testing::kIpv6;
using testing::MatchBuilder;
using testing::Output;
using testing::PopVlan;
using testing::PushVlan;
using testing::SetField;

v1::FlowSpec Spec(v1::Match match, std::vector<v1::Action> actions) {
  v1::FlowSpec spec;
  *spec.mutable_match() = std::move(match);
  for (v1::Action& action : actions) *spec.add_actions() = std::move(action);
  return spec;
}

absl::Status Convert(const v1::FlowSpec& in, FlowSpec& out) {
  ViolationList violations;
  FlowSpecFromProto(in, ApiLimits{.actions_per_flow = 4}, Path("flow"), violations, out);
  return violations.ToStatus();
}

v1::Action Reserved(v1::ReservedPort port) {
  v1::Action action;
  action.mutable_output()->set_reserved(port);
  return action;
}

v1::Action DecTtl() {
  v1::Action action;
  action.mutable_dec_ttl();
  return action;
}

template <typename Message>
v1::Action Of(Message* (v1::Action::*mutable_action)()) {
  v1::Action action;
  (action.*mutable_action)();
  return action;
}
v1::Action Clear() { return Of(&v1::Action::mutable_clear_actions); }
v1::Action Controller(uint32_t max_len) {
  v1::Action action;
  action.mutable_controller()->set_max_len(max_len);
  return action;
}
v1::Action Controller(v1::PacketReason reason) {
  v1::Action action;
  action.mutable_controller()->set_reason(reason);
  return action;
}
v1::Action Goto(uint32_t table_id) {
  v1::Action action;
  action.mutable_goto_table()->set_table_id(table_id);
  return action;
}
v1::Action PushMpls(uint32_t eth_type) {
  v1::Action action;
  action.mutable_push_mpls()->set_eth_type(eth_type);
  return action;
}
v1::Action PopMpls(uint32_t eth_type) {
  v1::Action action;
  action.mutable_pop_mpls()->set_eth_type(eth_type);
  return action;
}
v1::Action Move(v1::Field from, v1::Field to, uint32_t from_bit, uint32_t to_bit, uint32_t bits) {
  v1::Action action;
  v1::MoveFieldAction* move = action.mutable_move_field();
  move->set_source(from);
  move->set_destination(to);
  move->set_source_bit(from_bit);
  move->set_destination_bit(to_bit);
  move->set_bits(bits);
  return action;
}
v1::Action WriteActions(const std::vector<v1::Action>& actions) {
  v1::Action action;
  for (const v1::Action& each : actions) *action.mutable_write_actions()->add_actions() = each;
  return action;
}

TEST(FlowSpecTest, EveryActionComesBack) {
  const std::vector<v1::Action> all[] = {
      {Output(1), Output(65279), Reserved(v1::RESERVED_PORT_IN_PORT), Reserved(v1::RESERVED_PORT_ALL)},
      {PushVlan(), PushVlan(0x88a8, true), PopVlan(), DecTtl()},
      {SetField(v1::FIELD_IPV4_DST, 0x0a000000, 0xff000000), SetField(v1::FIELD_TCP_DST, 0)},
      {SetField(v1::FIELD_IP_TTL, 0x40, 0xf0)},
      {Reserved(v1::RESERVED_PORT_FLOOD), Reserved(v1::RESERVED_PORT_NORMAL),
       Move(v1::FIELD_IPV4_SRC, v1::FIELD_IPV4_DST, 8, 0, 24), Clear()},
      {WriteActions({DecTtl(), Output(3)}), PushMpls(0x8848)},
      {PushMpls(0x8847), Of(&v1::Action::mutable_dec_mpls_ttl), PopMpls(0x0800), Goto(254)},
      {Controller(128), Controller(0), Controller(65535)},
      {Controller(v1::PACKET_REASON_NO_MATCH), Controller(v1::PACKET_REASON_ACTION_SET)},
      {Controller(v1::PACKET_REASON_GROUP), Controller(v1::PACKET_REASON_INVALID_TTL),
       Controller(v1::PACKET_REASON_PACKET_OUT)},
      {},
  };
  for (const std::vector<v1::Action>& actions : all) {
    const v1::FlowSpec in = Spec(MatchBuilder().Ip(kIpv4, 6).match(), actions);
    FlowInfo flow;
    ASSERT_TRUE(Convert(in, flow.spec).ok()) << Convert(in, flow.spec);
    v1::Flow out;
    FlowToProto(flow, &out);
    EXPECT_TRUE(MessageDifferencer::Equals(out.spec(), in)) << out.DebugString() << in.DebugString();
  }
}

TEST(FlowSpecTest, TheReasonActionIsNoneOfItsOwn) {
  FlowSpec given, unset;
  ASSERT_TRUE(Convert(Spec({}, {Controller(v1::PACKET_REASON_ACTION)}), given).ok());
  ASSERT_TRUE(Convert(Spec({}, {Controller(0)}), unset).ok());
  EXPECT_EQ(given.actions, unset.actions);
}

TEST(FlowSpecTest, ActionsArriveAsTheDataplaneTakesThem) {
  FlowSpec spec;
  ASSERT_TRUE(
      Convert(Spec({}, {PushVlan(0x88a8, true), SetField(v1::FIELD_VLAN_VID, 0x0f0, 0xff0), Output(7)}), spec).ok());
  Action push;
  push.type = ActionType::kPushVlan;
  push.tpid = 0x88a8;
  push.only_if_untagged = true;
  Action set;
  set.type = ActionType::kSetField;
  set.field = Field::kVlanVid;
  set.value = 0x0f0;
  set.mask = 0xff0;
  Action output;
  output.type = ActionType::kOutput;
  output.port = 7;
  EXPECT_THAT(spec.actions, ElementsAre(push, set, output));
}

TEST(FlowSpecTest, EveryWritableFieldCanBeWrittenAndNoOther) {
  for (const FieldInfo& info : Fields()) {
    if (info.field == Field::kNone) continue;
    v1::Action action;
    action.mutable_set_field()->set_field(info.number);
    if (info.wide()) action.mutable_set_field()->set_wide_value(std::string(16, 'a'));
    KnownHeaders anything;
    anything.anything = true;
    ViolationList violations;
    ActionList actions;
    ProtoActions in;
    *in.Add() = action;
    ActionsFromProto(in, anything, kAnyTable, 4, nullptr, violations, actions);
    EXPECT_EQ(violations.empty(), info.writable) << violations.ToStatus();
    if (!info.writable) {
      EXPECT_THAT(std::string(violations.ToStatus().message()),
                  HasSubstr(info.name + " cannot be written; these can: eth_dst, eth_src, vlan_vid"));
    }
  }
}

TEST(FlowSpecTest, FieldsOfTheFlowArrive) {
  v1::FlowSpec in = Spec(MatchBuilder().EthType(kArp).match(), {});
  in.set_priority(65535);
  in.set_cookie(0xffffffffffffffff);
  in.mutable_idle_timeout()->set_seconds(65535);
  in.mutable_hard_timeout()->set_seconds(1);
  FlowSpec spec;
  ASSERT_TRUE(Convert(in, spec).ok());
  EXPECT_EQ(spec.table_id, 0);
  EXPECT_EQ(spec.priority, 65535);
  EXPECT_EQ(spec.cookie, 0xffffffffffffffff);
  EXPECT_EQ(spec.timeouts.idle, 65535);
  EXPECT_EQ(spec.timeouts.hard, 1);
  EXPECT_EQ(GetField(spec.match.value, Field::kEthType), kArp);
}

struct BadSpec {
  const char* what;
  v1::FlowSpec in;
  absl::StatusCode code;
  const char* field;
  const char* text;
};

v1::FlowSpec With(void (*change)(v1::FlowSpec&)) {
  v1::FlowSpec spec;
  change(spec);
  return spec;
}

class BadSpecTest : public ::testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, NamesTheFieldAndWhatWouldBeRight) {
  FlowSpec spec;
  const absl::Status status = Convert(GetParam().in, spec);
  EXPECT_EQ(status.code(), GetParam().code) << status;
  const google::rpc::BadRequest details = BadRequestOf(status);
  ASSERT_EQ(details.field_violations_size(), 1) << status;
  EXPECT_EQ(details.field_violations(0).field(), GetParam().field);
  EXPECT_THAT(details.field_violations(0).description(), HasSubstr(GetParam().text));
}

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLimit = absl::StatusCode::kResourceExhausted;
constexpr auto kNotBuilt = absl::StatusCode::kUnimplemented;

v1::FlowSpec UnknownAction() {
  v1::FlowSpec spec;
  v1::Action* action = spec.add_actions();
  action->GetReflection()->MutableUnknownFields(action)->AddVarint(8, 1);
  return spec;
}

const BadSpec kBadSpecs[] = {
    {"TableBehindTheLast", With([](v1::FlowSpec& s) { s.set_table_id(255); }), kInvalid, "flow.table_id", "0 to 254"},
    {"GotoItself", With([](v1::FlowSpec& s) {
       s.set_table_id(3);
       s.add_actions()->mutable_goto_table()->set_table_id(3);
     }),
     kInvalid, "flow.actions[0].goto_table.table_id", "not behind the flow's own table 3"},
    {"GotoNotLast", With([](v1::FlowSpec& s) {
       s.add_actions()->mutable_goto_table()->set_table_id(3);
       *s.add_actions() = Output(1);
     }),
     kInvalid, "flow.actions[0]", "not the last action"},
    {"ControllerTooLong", Spec({}, {Controller(65536)}), kInvalid, "flow.actions[0].controller.max_len",
     "1 to 65535, or 0 for all"},
    {"ControllerWithoutSuchAReason", Spec({}, {Controller(static_cast<v1::PacketReason>(7))}), kInvalid,
     "flow.actions[0].controller.reason",
     "no reason 7: PACKET_REASON_ACTION, PACKET_REASON_NO_MATCH, PACKET_REASON_ACTION_SET, PACKET_REASON_GROUP, "
     "PACKET_REASON_INVALID_TTL or PACKET_REASON_PACKET_OUT"},
    {"ControllerTooLongInSet",
     With([](v1::FlowSpec& s) { *s.add_actions()->mutable_write_actions()->add_actions() = Controller(65536); }),
     kInvalid, "flow.actions[0].write_actions.actions[0].controller.max_len", "1 to 65535, or 0 for all"},
    {"MeterInSet", With([](v1::FlowSpec& s) {
       s.add_actions()->mutable_write_actions()->add_actions()->mutable_meter()->set_meter_id(1);
     }),
     kInvalid, "flow.actions[0].write_actions.actions[0]", "cannot stand in write_actions"},
    {"GotoInSet",
     With([](v1::FlowSpec& s) { s.add_actions()->mutable_write_actions()->add_actions()->mutable_clear_actions(); }),
     kInvalid, "flow.actions[0].write_actions.actions[0]", "cannot stand in write_actions"},
    {"SetInSet",
     With([](v1::FlowSpec& s) { s.add_actions()->mutable_write_actions()->add_actions()->mutable_write_actions(); }),
     kInvalid, "flow.actions[0].write_actions.actions[0]", "within write_actions"},
    {"MoveTooMany", With([](v1::FlowSpec& s) {
       v1::MoveFieldAction* move = s.add_actions()->mutable_move_field();
       move->set_source(v1::FIELD_ETH_SRC);
       move->set_destination(v1::FIELD_ETH_DST);
       move->set_source_bit(40);
       move->set_bits(9);
     }),
     kInvalid, "flow.actions[0].move_field.source_bit", "9 bits from bit 40 on are not within eth_src"},
    {"MoveIntoInPort", With([](v1::FlowSpec& s) {
       v1::MoveFieldAction* move = s.add_actions()->mutable_move_field();
       move->set_source(v1::FIELD_IN_PORT);
       move->set_destination(v1::FIELD_IN_PORT);
     }),
     kInvalid, "flow.actions[0].move_field.destination", "cannot be written"},
    {"PushWrongMpls", With([](v1::FlowSpec& s) { s.add_actions()->mutable_push_mpls()->set_eth_type(0x0800); }),
     kInvalid, "flow.actions[0].push_mpls.eth_type", "no EtherType of MPLS"},
    {"PopWithoutMpls", With([](v1::FlowSpec& s) { s.add_actions()->mutable_pop_mpls()->set_eth_type(0x0800); }),
     kInvalid, "flow.actions[0].pop_mpls", "pop_mpls needs eth_type 0x8847"},
    {"Table255", With([](v1::FlowSpec& s) { s.set_table_id(255); }), kInvalid, "flow.table_id", "0 to 254"},
    {"Priority", With([](v1::FlowSpec& s) { s.set_priority(65536); }), kInvalid, "flow.priority", "0 to 65535"},
    {"IdleTimeoutTooLong", With([](v1::FlowSpec& s) { s.mutable_idle_timeout()->set_seconds(65536); }), kInvalid,
     "flow.idle_timeout", "65536 s is no timeout: 1 to 65535 seconds"},
    {"HardTimeoutNegative", With([](v1::FlowSpec& s) { s.mutable_hard_timeout()->set_seconds(-1); }), kInvalid,
     "flow.hard_timeout", "-1 s is no timeout"},
    {"IdleTimeoutFraction", With([](v1::FlowSpec& s) { s.mutable_idle_timeout()->set_nanos(500'000'000); }), kInvalid,
     "flow.idle_timeout", "0 s and 500000000 ns: timeouts are whole seconds"},
    {"HardTimeoutFraction", With([](v1::FlowSpec& s) {
       s.mutable_hard_timeout()->set_seconds(1);
       s.mutable_hard_timeout()->set_nanos(1);
     }),
     kInvalid, "flow.hard_timeout", "1 s and 1 ns: timeouts are whole seconds"},
    {"TooManyActions", Spec({}, {Output(1), Output(2), Output(3), Output(4), Output(5)}), kLimit, "flow.actions",
     "5 actions; at most 4 (limits.actions_per_flow)"},
    {"EmptyAction", Spec({}, {Output(1), v1::Action()}), kInvalid, "flow.actions[1]",
     "one of output, set_field, push_vlan, pop_vlan, dec_ttl"},
    {"ActionOfALaterVersion", UnknownAction(), kNotBuilt, "flow.actions[0]", "field number 8; it has output"},
    {"OutputZero", Spec({}, {Output(0)}), kInvalid, "flow.actions[0].output.port", "1 to 65279"},
    {"OutputTooHigh", Spec({}, {Output(65280)}), kInvalid, "flow.actions[0].output.port", "1 to 65279"},
    {"OutputNowhere", With([](v1::FlowSpec& s) { s.add_actions()->mutable_output(); }), kInvalid,
     "flow.actions[0].output", "set port or reserved"},
    {"OutputUnknownReserved", Spec({}, {Reserved(static_cast<v1::ReservedPort>(9))}), kInvalid,
     "flow.actions[0].output.reserved", "RESERVED_PORT_FLOOD or RESERVED_PORT_NORMAL"},
    {"OutputUnspecified", Spec({}, {Reserved(v1::RESERVED_PORT_UNSPECIFIED)}), kInvalid,
     "flow.actions[0].output.reserved", "unknown reserved port 0"},
    {"Tpid", Spec({}, {PushVlan(0x9100)}), kInvalid, "flow.actions[0].push_vlan.tpid", "0x8100 or 0x88a8"},
    {"TpidHigh", Spec({}, {PushVlan(0x18100)}), kInvalid, "flow.actions[0].push_vlan.tpid", "0x8100 or 0x88a8"},
    {"SetInPort", Spec({}, {SetField(v1::FIELD_IN_PORT, 1)}), kInvalid, "flow.actions[0].set_field.field",
     "in_port cannot be written"},
    {"SetUnknown", Spec({}, {SetField(static_cast<v1::Field>(99), 1)}), kInvalid, "flow.actions[0].set_field.field",
     "unknown field 99"},
    {"SetMaskZero", Spec({}, {SetField(v1::FIELD_ETH_DST, 0, 0)}), kInvalid, "flow.actions[0].set_field.mask",
     "the mask is zero"},
    {"SetMaskTooWide", Spec(MatchBuilder().EthType(kIpv4).match(), {SetField(v1::FIELD_IP_TTL, 0, 0x101)}), kInvalid,
     "flow.actions[0].set_field.mask", "257"},
    {"SetVid4096", Spec({}, {PushVlan(), SetField(v1::FIELD_VLAN_VID, 4096)}), kInvalid,
     "flow.actions[1].set_field.value", "0 to 4095"},
    {"SetVidWithoutTag", Spec({}, {SetField(v1::FIELD_VLAN_VID, 1)}), kInvalid, "flow.actions[0].set_field.field",
     "or a push_vlan before"},
    {"SetVidAfterPop", Spec({}, {PushVlan(), PopVlan(), SetField(v1::FIELD_VLAN_VID, 1)}), kInvalid,
     "flow.actions[2].set_field.field", "writing vlan_vid needs a VLAN tag"},
    {"SetVidOfUntagged", Spec(MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match(), {SetField(v1::FIELD_VLAN_PCP, 1)}),
     kInvalid, "flow.actions[0].set_field.field", "writing vlan_pcp needs a VLAN tag"},
    {"SetIpWithoutIp", Spec({}, {SetField(v1::FIELD_IPV4_SRC, 1)}), kInvalid, "flow.actions[0].set_field.field",
     "writing ip_src needs eth_type 0x0800 in the flow's match"},
    {"SetPortOfLaterFragment",
     Spec(MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_IP_FRAG, 3).match(), {SetField(v1::FIELD_UDP_SRC, 1)}), kInvalid,
     "flow.actions[0].set_field.field", "later fragments"},
    {"SetTcpOfUdp", Spec(MatchBuilder().Ip(kIpv6, 17).match(), {SetField(v1::FIELD_TCP_SRC, 1)}), kInvalid,
     "flow.actions[0].set_field.field", "nw_proto 6"},
};
INSTANTIATE_TEST_SUITE_P(Specs, BadSpecTest, ::testing::ValuesIn(kBadSpecs),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(FlowSpecTest, VlanFieldsCanBeWrittenWhereATagIsCertain) {
  const v1::Match tagged = MatchBuilder().On(v1::FIELD_VLAN_VID, 1).match();
  const v1::Action set = SetField(v1::FIELD_VLAN_VID, 2);
  for (const v1::FlowSpec& in : {Spec(tagged, {set}), Spec({}, {PushVlan(), set}),
                                 Spec({}, {PushVlan(0x8100, true), set}), Spec(tagged, {PushVlan(), PopVlan(), set}),
                                 Spec(MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 1).match(), {set})}) {
    FlowSpec spec;
    EXPECT_TRUE(Convert(in, spec).ok()) << Convert(in, spec) << in.DebugString();
  }
  // Pushed only onto untagged packets: popped again, there may be none.
  FlowSpec spec;
  EXPECT_FALSE(Convert(Spec(tagged, {PushVlan(0x8100, true), PopVlan(), set}), spec).ok());
}

TEST(FlowSpecTest, WhatIsWrongInMatchAndActionsIsListedTogether) {
  v1::FlowSpec in = Spec(MatchBuilder().EthType(1).match(), {Output(0), SetField(v1::FIELD_TCP_SRC, 1)});
  in.set_priority(70000);
  in.set_table_id(300);
  FlowSpec spec;
  const absl::Status status = Convert(in, spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("flow.table_id", "flow.priority", "flow.match.fields[0].value",
                                            "flow.actions[0].output.port"));
}

}  // namespace
}  // namespace sluice
