// What names flows and selects them, and flows as they are returned.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/convert.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using testing::FieldsOf;
using ::testing::HasSubstr;
using testing::kIpv4;
using testing::kIpv6;
using testing::MatchBuilder;

TEST(FlowKeyTest, IdOrIdentity) {
  ViolationList violations;
  FlowKey key;
  v1::FlowKey in;
  in.set_id(17);
  FlowKeyFromProto(in, Path("key"), violations, key);
  EXPECT_EQ(std::get<uint64_t>(key), 17u);
  in.mutable_identity()->set_priority(3);
  in.mutable_identity()->set_table_id(254);
  *in.mutable_identity()->mutable_match() = MatchBuilder().EthType(kIpv6).match();
  FlowKeyFromProto(in, Path("key"), violations, key);
  const FlowIdentity& identity = std::get<FlowIdentity>(key);
  EXPECT_EQ(identity.priority, 3);
  EXPECT_EQ(identity.table_id, 254);
  EXPECT_EQ(GetField(identity.match.value, Field::kEthType), kIpv6);
  EXPECT_TRUE(violations.empty());
}

TEST(FlowKeyTest, WhatIsWrongIsNamed) {
  const auto status_of = [](const v1::FlowKey& in) {
    ViolationList violations;
    FlowKey key;
    FlowKeyFromProto(in, Path("key"), violations, key);
    return violations.ToStatus();
  };
  EXPECT_EQ(status_of(v1::FlowKey()).message(), "key: names no flow: set id or identity");
  v1::FlowKey in;
  in.mutable_identity()->set_table_id(255);
  EXPECT_THAT(std::string(status_of(in).message()), HasSubstr("key.identity.table_id: "));
  in.mutable_identity()->set_table_id(0);
  *in.mutable_identity()->mutable_match() = MatchBuilder().EthType(0).match();
  EXPECT_THAT(std::string(status_of(in).message()), HasSubstr("key.identity.match.fields[0].value: "));
}

TEST(FlowFilterTest, AbsentIsEverything) {
  ViolationList violations;
  FlowFilter filter;
  filter.priority = 5;
  FlowFilterFromProto(v1::FlowFilter(), Path("filter"), violations, filter);
  EXPECT_TRUE(violations.empty());
  EXPECT_FALSE(filter.table_id || filter.priority || filter.out_port);
  EXPECT_TRUE(filter.match == Match{});
  EXPECT_EQ(filter.cookie_mask, 0u);
}

TEST(FlowFilterTest, ZeroIsAConditionWhereItIsGiven) {
  ViolationList violations;
  FlowFilter filter;
  v1::FlowFilter in;
  in.set_table_id(0);
  in.set_priority(0);
  in.set_out_port(1);
  in.set_cookie(5);
  in.set_cookie_mask(7);
  *in.mutable_match() = MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_PROTO, 0).match();
  FlowFilterFromProto(in, Path("filter"), violations, filter);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(filter.table_id, 0);
  EXPECT_EQ(filter.priority, 0);
  EXPECT_EQ(filter.out_port, 1u);
  EXPECT_EQ(filter.cookie, 5u);
  EXPECT_EQ(filter.cookie_mask, 7u);
  EXPECT_EQ(GetField(filter.match.mask, Field::kIpProto), 0xff);
}

TEST(FlowFilterTest, WhatIsWrongIsNamed) {
  ViolationList violations;
  FlowFilter filter;
  v1::FlowFilter in;
  in.set_table_id(255);
  in.set_priority(65536);
  in.set_out_port(0);
  *in.mutable_match() = MatchBuilder().EthType(kIpv4).On(v1::FIELD_UDP_DST, 1).match();
  FlowFilterFromProto(in, Path("filter"), violations, filter);
  EXPECT_THAT(FieldsOf(violations.ToStatus()),
              ElementsAre("filter.table_id", "filter.priority", "filter.out_port", "filter.match.fields[1].field"));
}

TEST(FlowToProtoTest, TimesAndCounters) {
  FlowInfo flow;
  flow.id = 9;
  flow.create_time = absl::FromUnixNanos(1'500'000'000'123'456'789);
  flow.stats.packets = 3;
  flow.stats.bytes = 180;
  v1::Flow out;
  FlowToProto(flow, &out);
  EXPECT_EQ(out.id(), 9u);
  EXPECT_EQ(out.create_time().seconds(), 1'500'000'000);
  EXPECT_EQ(out.create_time().nanos(), 123'456'789);
  EXPECT_EQ(out.stats().packets(), 3u);
  EXPECT_EQ(out.stats().bytes(), 180u);
  EXPECT_FALSE(out.stats().has_last_used_time()) << "no packet yet";
  flow.stats.last_used = absl::FromUnixSeconds(5);
  FlowToProto(flow, &out);
  EXPECT_EQ(out.stats().last_used_time().seconds(), 5);
}

}  // namespace
}  // namespace sluice
