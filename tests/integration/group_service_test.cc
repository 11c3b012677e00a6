// GroupService and MeterService over gRPC.

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/integration/api_fixture.h"

namespace sluice {
namespace {

using GroupStub = v1::GroupService::Stub;
using MeterStub = v1::MeterService::Stub;
using ::testing::HasSubstr;

class GroupServiceTest : public ApiTest {
 protected:
  static v1::GroupSpec Good(uint32_t id = 1) {
    v1::GroupSpec spec;
    spec.set_group_id(id);
    spec.set_type(v1::GROUP_TYPE_SELECT);
    for (uint32_t port = 1; port <= 2; ++port) {
      v1::Bucket* bucket = spec.add_buckets();
      bucket->set_weight(10 * port);
      bucket->set_watch_port(port);
      bucket->add_actions()->mutable_output()->set_port(port);
    }
    spec.add_hash_fields(v1::FIELD_IPV4_SRC);
    return spec;
  }
  static v1::MeterSpec GoodMeter(uint32_t id = 1) {
    v1::MeterSpec spec;
    spec.set_meter_id(id);
    spec.set_unit(v1::METER_UNIT_PKTPS);
    spec.add_bands()->set_type(v1::METER_BAND_TYPE_DROP);
    spec.mutable_bands(0)->set_rate(100);
    return spec;
  }
  grpc::Status Create(const v1::GroupSpec& spec, v1::Group* out = nullptr) {
    v1::CreateGroupRequest request;
    *request.mutable_group() = spec;
    v1::CreateGroupResponse response;
    grpc::Status status = Call(*groups_, &GroupStub::CreateGroup, request, &response);
    if (out != nullptr) *out = response.group();
    return status;
  }
  grpc::Status Create(const v1::MeterSpec& spec) {
    v1::CreateMeterRequest request;
    *request.mutable_meter() = spec;
    v1::CreateMeterResponse response;
    return Call(*meters_, &MeterStub::CreateMeter, request, &response);
  }
  template <typename Spec>
  void ExpectRefusal(const Spec& good, const std::string& field, const std::function<void(Spec&)>& spoil,
                     grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT) {
    Spec spec = good;
    spoil(spec);
    const grpc::Status status = Create(spec);
    EXPECT_EQ(status.error_code(), code) << field;
    const google::rpc::BadRequest details = BadRequestOf(status);
    ASSERT_EQ(details.field_violations_size(), 1) << field << ": " << status.error_message();
    EXPECT_EQ(details.field_violations(0).field(), field);
  }
};

TEST_F(GroupServiceTest, LivesAndDies) {
  v1::Group created;
  ASSERT_TRUE(Create(Good(), &created).ok());
  v1::GroupSpec canonical = Good();
  canonical.mutable_buckets(0)->set_bucket_id(0);
  canonical.mutable_buckets(1)->set_bucket_id(1);
  EXPECT_EQ(created.spec().SerializeAsString(), canonical.SerializeAsString());
  EXPECT_EQ(created.bucket_stats_size(), 2);
  EXPECT_EQ(Create(Good()).error_code(), grpc::StatusCode::ALREADY_EXISTS);

  v1::UpdateGroupRequest update;
  *update.mutable_group() = Good(2);
  v1::UpdateGroupResponse updated;
  EXPECT_EQ(Call(*groups_, &GroupStub::UpdateGroup, update, &updated).error_code(), grpc::StatusCode::NOT_FOUND);
  update.set_allow_missing(true);
  EXPECT_TRUE(Call(*groups_, &GroupStub::UpdateGroup, update, &updated).ok());
  update.mutable_group()->clear_buckets();
  EXPECT_TRUE(Call(*groups_, &GroupStub::UpdateGroup, update, &updated).ok());

  v1::GetGroupRequest get;
  get.set_group_id(2);
  v1::GetGroupResponse got;
  ASSERT_TRUE(Call(*groups_, &GroupStub::GetGroup, get, &got).ok());
  EXPECT_EQ(got.group().spec().buckets_size(), 0);
  v1::DeleteGroupRequest remove;
  remove.set_group_id(2);
  v1::DeleteGroupResponse removed;
  EXPECT_TRUE(Call(*groups_, &GroupStub::DeleteGroup, remove, &removed).ok());
  EXPECT_EQ(Call(*groups_, &GroupStub::DeleteGroup, remove, &removed).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(*groups_, &GroupStub::GetGroup, get, &got).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GroupServiceTest, ListsPageByPage) {
  for (const uint32_t id : {5u, 4294967040u, 1u}) ASSERT_TRUE(Create(Good(id)).ok());
  v1::ListGroupsRequest request;
  request.set_page_size(2);
  v1::ListGroupsResponse page;
  ASSERT_TRUE(Call(*groups_, &GroupStub::ListGroups, request, &page).ok());
  ASSERT_EQ(page.groups_size(), 2);
  EXPECT_EQ(page.groups(1).spec().group_id(), 5u);
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(Call(*groups_, &GroupStub::ListGroups, request, &page).ok());
  ASSERT_EQ(page.groups_size(), 1);
  EXPECT_EQ(page.groups(0).spec().group_id(), 4294967040u);
  EXPECT_EQ(page.next_page_token(), "");
  request.set_page_token("nonsense");
  EXPECT_EQ(Call(*groups_, &GroupStub::ListGroups, request, &page).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GroupServiceTest, RefusesBadGroupsByField) {
  using Spec = v1::GroupSpec;
  ExpectRefusal<Spec>(Good(), "group.group_id", [](Spec& s) { s.set_group_id(0); });
  ExpectRefusal<Spec>(Good(), "group.group_id", [](Spec& s) { s.set_group_id(4294967041); });
  ExpectRefusal<Spec>(Good(), "group.type", [](Spec& s) { s.clear_type(); });
  ExpectRefusal<Spec>(Good(), "group.buckets[1].weight", [](Spec& s) { s.mutable_buckets(1)->set_weight(65536); });
  ExpectRefusal<Spec>(Good(), "group.buckets[0].watch_port",
                      [](Spec& s) { s.mutable_buckets(0)->set_watch_port(0xff00); });
  ExpectRefusal<Spec>(Good(), "group.buckets[0].watch_group",
                      [](Spec& s) { s.mutable_buckets(0)->set_watch_group(4294967041); });
  ExpectRefusal<Spec>(Good(), "group.buckets[1].bucket_id", [](Spec& s) { s.mutable_buckets(1)->set_bucket_id(0); });
  ExpectRefusal<Spec>(Good(), "group.hash_fields[1]", [](Spec& s) { s.add_hash_fields(v1::FIELD_UNSPECIFIED); });
  ExpectRefusal<Spec>(Good(), "group.hash_fields[1]", [](Spec& s) { s.add_hash_fields(s.hash_fields(0)); });
  ExpectRefusal<Spec>(Good(), "group.buckets[0].actions[0].output.port",
                      [](Spec& s) { s.mutable_buckets(0)->mutable_actions(0)->mutable_output()->set_port(0xff00); });
  ExpectRefusal<Spec>(Good(), "group.buckets[0].actions[1]",
                      [](Spec& s) { s.mutable_buckets(0)->add_actions()->mutable_meter()->set_meter_id(1); });
  ExpectRefusal<Spec>(Good(), "group.buckets[0].actions[1]",
                      [](Spec& s) { s.mutable_buckets(0)->add_actions()->mutable_write_actions(); });
  ExpectRefusal<Spec>(Good(), "group.buckets[0].actions[1]",
                      [](Spec& s) { s.mutable_buckets(0)->add_actions()->mutable_clear_actions(); });
  ExpectRefusal<Spec>(
      Good(), "group.buckets",
      [](Spec& s) {
        while (s.buckets_size() <= 64) s.add_buckets();
      },
      grpc::StatusCode::RESOURCE_EXHAUSTED);
  v1::GroupSpec indirect;
  indirect.set_group_id(1);
  indirect.set_type(v1::GROUP_TYPE_INDIRECT);
  ExpectRefusal<Spec>(indirect, "group.buckets", [](Spec&) {});
  indirect.add_buckets();
  ExpectRefusal<Spec>(indirect, "group.buckets[0].weight", [](Spec& s) { s.mutable_buckets(0)->set_weight(1); });
  ExpectRefusal<Spec>(indirect, "group.hash_fields", [](Spec& s) { s.add_hash_fields(v1::FIELD_IPV4_SRC); });
  v1::GroupSpec loop = indirect;
  loop.mutable_buckets(0)->add_actions()->mutable_group()->set_group_id(1);
  const grpc::Status status = Create(loop);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("1 -> 1"));
}

TEST_F(GroupServiceTest, MetersLiveAndDie) {
  ASSERT_TRUE(Create(GoodMeter()).ok());
  EXPECT_EQ(Create(GoodMeter()).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  v1::UpdateMeterRequest update;
  *update.mutable_meter() = GoodMeter(2);
  v1::UpdateMeterResponse updated;
  EXPECT_EQ(Call(*meters_, &MeterStub::UpdateMeter, update, &updated).error_code(), grpc::StatusCode::NOT_FOUND);
  update.set_allow_missing(true);
  update.mutable_meter()->mutable_bands(0)->set_burst_size(7);
  EXPECT_TRUE(Call(*meters_, &MeterStub::UpdateMeter, update, &updated).ok());
  EXPECT_EQ(updated.meter().spec().SerializeAsString(), update.meter().SerializeAsString());
  v1::ListMetersResponse page;
  ASSERT_TRUE(Call(*meters_, &MeterStub::ListMeters, {}, &page).ok());
  EXPECT_EQ(page.meters_size(), 2);
  EXPECT_EQ(page.next_page_token(), "");
  v1::DeleteMeterRequest remove;
  remove.set_meter_id(2);
  v1::DeleteMeterResponse removed;
  EXPECT_TRUE(Call(*meters_, &MeterStub::DeleteMeter, remove, &removed).ok());
  EXPECT_EQ(Call(*meters_, &MeterStub::DeleteMeter, remove, &removed).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::GetMeterRequest get;
  get.set_meter_id(2);
  v1::GetMeterResponse got;
  EXPECT_EQ(Call(*meters_, &MeterStub::GetMeter, get, &got).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GroupServiceTest, RefusesBadMetersByField) {
  using Spec = v1::MeterSpec;
  ExpectRefusal<Spec>(GoodMeter(), "meter.meter_id", [](Spec& s) { s.set_meter_id(0); });
  ExpectRefusal<Spec>(GoodMeter(), "meter.meter_id", [](Spec& s) { s.set_meter_id(65536); });
  ExpectRefusal<Spec>(GoodMeter(), "meter.unit", [](Spec& s) { s.clear_unit(); });
  ExpectRefusal<Spec>(GoodMeter(), "meter.bands", [](Spec& s) { s.clear_bands(); });
  ExpectRefusal<Spec>(GoodMeter(), "meter.bands[0].rate", [](Spec& s) { s.mutable_bands(0)->set_rate(0); });
  ExpectRefusal<Spec>(GoodMeter(), "meter.bands[0].type", [](Spec& s) { s.mutable_bands(0)->clear_type(); });
  ExpectRefusal<Spec>(GoodMeter(), "meter.bands[0].prec_level", [](Spec& s) { s.mutable_bands(0)->set_prec_level(1); });
  ExpectRefusal<Spec>(GoodMeter(), "meter.bands[0].prec_level",
                      [](Spec& s) { s.mutable_bands(0)->set_type(v1::METER_BAND_TYPE_DSCP_REMARK); });
  ExpectRefusal<Spec>(
      GoodMeter(), "meter.bands",
      [](Spec& s) {
        while (s.bands_size() <= 8) *s.add_bands() = s.bands(0);
      },
      grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(GroupServiceTest, FlowsNameGroupsAndMetersByNumber) {
  v1::FlowSpec spec;
  spec.mutable_match();
  spec.add_actions()->mutable_meter()->set_meter_id(65535);
  spec.add_actions()->mutable_group()->set_group_id(4294967040);
  EXPECT_EQ(MustCreate(spec).spec().SerializeAsString(), spec.SerializeAsString());
  v1::CreateFlowRequest request;
  request.mutable_flow()->add_actions()->mutable_group()->set_group_id(4294967041);
  request.mutable_flow()->add_actions()->mutable_meter()->set_meter_id(0);
  v1::CreateFlowResponse response;
  const grpc::Status status = Call(*flows_, &v1::FlowService::Stub::CreateFlow, request, &response);
  const google::rpc::BadRequest details = BadRequestOf(status);
  ASSERT_EQ(details.field_violations_size(), 2);
  EXPECT_EQ(details.field_violations(0).field(), "flow.actions[0].group.group_id");
  EXPECT_EQ(details.field_violations(1).field(), "flow.actions[1].meter.meter_id");
}

}  // namespace
}  // namespace sluice
