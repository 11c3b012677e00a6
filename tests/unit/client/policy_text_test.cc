// The text of groups and meters: what it means, and where it is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/group_text.h"

namespace sluice::client {
namespace {

TEST(GroupText, SaysAllOfAGroup) {
  const absl::StatusOr<v1::GroupSpec> group = ParseGroup(
      "group_id=7,type=select,selection_method=hash,fields(ip_src,tcp_dst),"
      "bucket=bucket_id:3,weight:10,watch_port:2,actions=set_field:02:00:00:00:00:01->eth_dst,output:2,"
      "bucket=weight:0,watch_group:9,group:9",
      {});
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(group->group_id(), 7u);
  EXPECT_EQ(group->type(), v1::GROUP_TYPE_SELECT);
  ASSERT_EQ(group->hash_fields_size(), 2);
  EXPECT_EQ(group->hash_fields(0), v1::FIELD_IPV4_SRC);
  EXPECT_EQ(group->hash_fields(1), v1::FIELD_TCP_DST);
  ASSERT_EQ(group->buckets_size(), 2);
  EXPECT_EQ(group->buckets(0).bucket_id(), 3u);
  EXPECT_EQ(group->buckets(0).weight(), 10u);
  EXPECT_EQ(group->buckets(0).watch_port(), 2u);
  ASSERT_EQ(group->buckets(0).actions_size(), 2);
  EXPECT_EQ(group->buckets(0).actions(1).output().port(), 2u);
  EXPECT_FALSE(group->buckets(1).has_bucket_id());
  EXPECT_TRUE(group->buckets(1).has_weight());
  EXPECT_EQ(group->buckets(1).watch_group(), 9u);
  ASSERT_EQ(group->buckets(1).actions_size(), 1);
  EXPECT_EQ(group->buckets(1).actions(0).group().group_id(), 9u);
}

TEST(MeterText, SaysAllOfAMeter) {
  const absl::StatusOr<v1::MeterSpec> meter = ParseMeter(
      "meter=3,pktps,burst,stats,bands=type=dscp_remark,rate=10,prec_level=2,type=drop,rate=20,burst_size=5", {});
  ASSERT_TRUE(meter.ok()) << meter.status();
  EXPECT_EQ(meter->meter_id(), 3u);
  EXPECT_EQ(meter->unit(), v1::METER_UNIT_PKTPS);
  ASSERT_EQ(meter->bands_size(), 2);
  EXPECT_EQ(meter->bands(0).type(), v1::METER_BAND_TYPE_DSCP_REMARK);
  EXPECT_EQ(meter->bands(0).rate(), 10u);
  EXPECT_EQ(meter->bands(0).prec_level(), 2u);
  EXPECT_EQ(meter->bands(1).type(), v1::METER_BAND_TYPE_DROP);
  EXPECT_EQ(meter->bands(1).rate(), 20u);
  EXPECT_EQ(meter->bands(1).burst_size(), 5u);
}

struct Bad {
  const char* text;
  const char* error;  // behind "flow:1:"
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }

class BadGroup : public testing::TestWithParam<Bad> {};
class BadMeter : public testing::TestWithParam<Bad> {};

TEST_P(BadGroup, IsRefusedAtItsColumn) {
  const absl::StatusOr<v1::GroupSpec> group = ParseGroup(GetParam().text, {});
  ASSERT_FALSE(group.ok()) << FormatGroupSpec(*group);
  EXPECT_EQ(group.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(group.status().message(), std::string("flow:1:") + GetParam().error);
}

TEST_P(BadMeter, IsRefusedAtItsColumn) {
  const absl::StatusOr<v1::MeterSpec> meter = ParseMeter(GetParam().text, {});
  ASSERT_FALSE(meter.ok()) << FormatMeterSpec(*meter);
  EXPECT_EQ(meter.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(meter.status().message(), std::string("flow:1:") + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Groups, BadGroup,
    testing::Values(
        Bad{"", "1: the group has no number; expected group_id=1 or the like"},
        Bad{"group_id=1", "11: the group has no type; expected type=all, select, indirect or ff"},
        Bad{"group_id=1,type=some", "17: \"some\" is no type of group; expected all, select, indirect or ff"},
        Bad{"group_id=1,type=all,bucket", "21: bucket has no value; expected bucket=output:1 or the like"},
        Bad{"group_id=1,type=all,bucket=actions", "28: actions has no value; expected actions=output:1 or the like"},
        Bad{"group_id=1,type=all,bucket=action,output:1",
            "28: action has no value; expected action=output:1 or the like"},
        Bad{"group_id=1,type=all,bucket=actions=bogus", "36: unknown action \"bogus\""}));

INSTANTIATE_TEST_SUITE_P(
    Meters, BadMeter,
    testing::Values(Bad{"", "1: the meter has no number; expected meter=1 or the like"},
                    Bad{"meter=1,kbps", "13: the meter has no band; expected bands=type=drop,rate=…"},
                    Bad{"meter=1,band=type=drop", "23: a band has no rate; expected rate=… behind its type"},
                    Bad{"meter=1,rate=5", "9: rate belongs to a band; expected bands=type=… before"},
                    Bad{"meter=1,pktps=3,band=type=drop,rate=1", "15: pktps takes no value"},
                    Bad{"meter=1,band=type=shape,rate=1",
                        "19: \"shape\" is no type of band; expected drop or dscp_remark"}));

}  // namespace
}  // namespace sluice::client
