// FlowService as a client sees it.

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/api_fixture.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Flows = v1::FlowService::Stub;
using testing::kIpv4;
using testing::kIpv6;
using testing::MatchBuilder;
using testing::Output;
using testing::SetField;

class FlowServiceTest : public ApiTest {};

TEST_F(FlowServiceTest, CreateReadUpdateDelete) {
  v1::FlowSpec spec = UdpFlow(100, 53);
  spec.set_cookie(0xabc);
  const v1::Flow created = MustCreate(spec);
  EXPECT_NE(created.id(), 0u);
  EXPECT_GT(created.create_time().seconds(), 1'600'000'000);
  EXPECT_EQ(created.spec().cookie(), 0xabcu);

  v1::GetFlowRequest get;
  v1::GetFlowResponse got;
  for (const v1::FlowKey& key : {KeyOf(created.id()), KeyOf(spec)}) {
    *get.mutable_key() = key;
    ASSERT_TRUE(Call(*flows_, &Flows::GetFlow, get, &got).ok());
    EXPECT_EQ(got.flow().id(), created.id());
  }

  v1::UpdateFlowRequest update;
  *update.mutable_key() = KeyOf(created.id());
  *update.add_actions() = Output(3);
  v1::UpdateFlowResponse updated;
  ASSERT_TRUE(Call(*flows_, &Flows::UpdateFlow, update, &updated).ok());
  EXPECT_EQ(updated.flow().id(), created.id());
  EXPECT_EQ(updated.flow().spec().actions(0).output().port(), 3u);
  EXPECT_EQ(updated.flow().spec().cookie(), 0xabcu) << "a cookie that is not given stays";

  v1::DeleteFlowRequest remove;
  *remove.mutable_key() = KeyOf(spec);
  v1::DeleteFlowResponse removed;
  ASSERT_TRUE(Call(*flows_, &Flows::DeleteFlow, remove, &removed).ok());
  EXPECT_EQ(removed.flow().id(), created.id());
  EXPECT_EQ(Call(*flows_, &Flows::GetFlow, get, &got).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(*flows_, &Flows::UpdateFlow, update, &updated).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(*flows_, &Flows::DeleteFlow, remove, &removed).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(FlowServiceTest, BadRequestsNameEveryField) {
  v1::CreateFlowRequest request;
  request.mutable_flow()->set_priority(70000);
  *request.mutable_flow()->mutable_match() =
      MatchBuilder().EthType(kIpv4).On(v1::FIELD_VLAN_VID, 4196).On(v1::FIELD_ETH_SRC, 5, 0).match();
  *request.mutable_flow()->add_actions() = Output(0);
  v1::CreateFlowResponse response;
  const grpc::Status status = Call(*flows_, &Flows::CreateFlow, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("flow.priority: 70000 is too high a priority: 0 to 65535 (and 3 more)"));
  std::vector<std::string> fields;
  const google::rpc::BadRequest details = BadRequestOf(status);
  for (const auto& violation : details.field_violations()) {
    fields.push_back(violation.field());
    EXPECT_NE(violation.description(), "");
  }
  EXPECT_THAT(fields, ElementsAre("flow.priority", "flow.match.fields[1].value", "flow.match.fields[2].mask",
                                  "flow.actions[0].output.port"));
}

TEST_F(FlowServiceTest, AFlowInTheWayIsNamed) {
  const v1::Flow first = MustCreate(UdpFlow(100, 53));
  v1::CreateFlowRequest request;
  *request.mutable_flow() = UdpFlow(100, 53);
  v1::CreateFlowResponse response;
  const grpc::Status status = Call(*flows_, &Flows::CreateFlow, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  google::rpc::ResourceInfo info;
  const google::rpc::Status rpc = RpcStatusOf(status);
  ASSERT_EQ(rpc.details_size(), 1);
  ASSERT_TRUE(rpc.details(0).UnpackTo(&info));
  EXPECT_EQ(info.resource_name(), absl::StrCat(first.id()));
  request.set_allow_existing(true);
  ASSERT_TRUE(Call(*flows_, &Flows::CreateFlow, request, &response).ok());
  EXPECT_FALSE(response.created());
  EXPECT_EQ(response.flow().id(), first.id());
}

TEST_F(FlowServiceTest, ARangeOfPortsIsOneFlow) {
  const auto ranged = [](uint64_t first, uint64_t last) {
    v1::FlowSpec spec;
    spec.set_priority(100);
    *spec.mutable_match() = MatchBuilder().Ip(kIpv4, 17).Range(v1::FIELD_UDP_DST, first, last).match();
    return spec;
  };
  const v1::Flow range = MustCreate(ranged(1000, 2000));
  const v1::Flow other = MustCreate(ranged(1000, 2001));
  const v1::Flow one = MustCreate(UdpFlow(100, 53));
  v1::CreateFlowRequest request;
  v1::CreateFlowResponse response;
  for (const v1::FlowSpec& spec : {ranged(1000, 2000), ranged(53, 53)}) {
    *request.mutable_flow() = spec;
    EXPECT_EQ(Call(*flows_, &Flows::CreateFlow, request, &response).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  }
  *request.mutable_flow() = ranged(2000, 1000);
  const grpc::Status refused = Call(*flows_, &Flows::CreateFlow, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(refused).field_violations(0).field(), "flow.match.fields[2].last");

  v1::ListFlowsRequest list;
  *list.mutable_filter()->mutable_match() = ranged(900, 2000).match();
  v1::ListFlowsResponse listed;
  ASSERT_TRUE(Call(*flows_, &Flows::ListFlows, list, &listed).ok());
  ASSERT_EQ(listed.flows_size(), 1) << "the other reaches beyond";
  EXPECT_EQ(listed.flows(0).id(), range.id());
  EXPECT_EQ(listed.flows(0).spec().match().fields(2).value(), 1000u);
  EXPECT_EQ(listed.flows(0).spec().match().fields(2).last(), 2000u);

  v1::DeleteFlowRequest remove;
  *remove.mutable_key() = KeyOf(ranged(1000, 2000));
  v1::DeleteFlowResponse removed;
  ASSERT_TRUE(Call(*flows_, &Flows::DeleteFlow, remove, &removed).ok());
  EXPECT_EQ(removed.flow().id(), range.id());
  EXPECT_EQ(Call(*flows_, &Flows::DeleteFlow, remove, &removed).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(FlowServiceTest, FlowsGoWhenTheirTimeIsUp) {
  v1::FlowSpec idle = UdpFlow(10, 1), hard = UdpFlow(10, 2), both = UdpFlow(10, 3);
  idle.mutable_idle_timeout()->set_seconds(1);
  hard.mutable_hard_timeout()->set_seconds(1);
  both.mutable_idle_timeout()->set_seconds(60);
  both.mutable_hard_timeout()->set_seconds(65535);
  const absl::Time start = absl::Now();
  MustCreate(idle);
  MustCreate(hard);
  const v1::Flow kept = MustCreate(both);
  EXPECT_EQ(kept.spec().idle_timeout().seconds(), 60);
  EXPECT_EQ(kept.spec().hard_timeout().seconds(), 65535);
  EXPECT_EQ(kept.modify_time().seconds(), kept.create_time().seconds());
  v1::GetFlowRequest request;
  v1::GetFlowResponse response;
  for (const v1::FlowSpec& spec : {idle, hard}) {
    *request.mutable_key() = KeyOf(spec);
    while (Call(*flows_, &Flows::GetFlow, request, &response).ok()) absl::SleepFor(absl::Milliseconds(5));
    EXPECT_GE(absl::Now() - start, absl::Seconds(1));
    EXPECT_LT(absl::Now() - start, absl::Seconds(2)) << spec.DebugString();
  }
  *request.mutable_key() = KeyOf(both);
  EXPECT_TRUE(Call(*flows_, &Flows::GetFlow, request, &response).ok());

  v1::UpdateFlowRequest update;
  *update.mutable_key() = KeyOf(both);
  update.mutable_idle_timeout();
  update.mutable_hard_timeout()->set_seconds(1);
  v1::UpdateFlowResponse updated;
  ASSERT_TRUE(Call(*flows_, &Flows::UpdateFlow, update, &updated).ok());
  EXPECT_FALSE(updated.flow().spec().has_idle_timeout()) << "zero is none";
  EXPECT_EQ(updated.flow().spec().hard_timeout().seconds(), 1);
  const absl::Time again = absl::Now();
  while (Call(*flows_, &Flows::GetFlow, request, &response).ok()) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_LT(absl::Now() - again, absl::Seconds(2));
  update.mutable_hard_timeout()->set_nanos(1);
  const grpc::Status refused = Call(*flows_, &Flows::UpdateFlow, update, &updated);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(refused).field_violations(0).field(), "hard_timeout");
}

TEST_F(FlowServiceTest, NoTagVidZeroAndNoConditionAreThreeThings) {
  v1::FlowSpec untagged;
  *untagged.mutable_match() = MatchBuilder().On(v1::FIELD_VLAN_PRESENT, 0).match();
  v1::FlowSpec vid_zero;
  *vid_zero.mutable_match() = MatchBuilder().On(v1::FIELD_VLAN_VID, 0).match();
  MustCreate(untagged);
  MustCreate(vid_zero);
  MustCreate(v1::FlowSpec());
  v1::ListFlowsResponse page;
  ASSERT_TRUE(Call(*flows_, &Flows::ListFlows, {}, &page).ok());
  ASSERT_EQ(page.flows_size(), 3);
  EXPECT_EQ(page.flows(0).spec().match().DebugString(), untagged.match().DebugString());
  EXPECT_EQ(page.flows(1).spec().match().DebugString(), vid_zero.match().DebugString());
  EXPECT_EQ(page.flows(2).spec().match().fields_size(), 0);
}

v1::BatchWriteRequest BadBatch(v1::BatchMode mode) {
  v1::BatchWriteRequest batch;
  batch.set_mode(mode);
  *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(100, 1);
  v1::FlowSpec bad;
  *bad.mutable_match() = MatchBuilder().EthType(kIpv4).On(v1::FIELD_IPV4_DST, 0x0a000000, uint64_t{1} << 32).match();
  *batch.add_items()->mutable_create()->mutable_flow() = bad;
  *batch.add_items()->mutable_delete_()->mutable_key() = KeyOf(UdpFlow(100, 999));
  *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(100, 3);
  v1::UpdateFlowRequest& update = *batch.add_items()->mutable_update();
  *update.mutable_key() = KeyOf(UdpFlow(10, 9));
  *update.add_actions() = Output(3);
  return batch;
}

TEST_F(FlowServiceTest, ABatchPerItem) {
  MustCreate(UdpFlow(10, 9));
  v1::BatchWriteResponse response;
  ASSERT_TRUE(Call(*flows_, &Flows::BatchWrite, BadBatch(v1::BATCH_MODE_PER_ITEM), &response).ok());
  std::vector<int> codes;
  for (const auto& result : response.results()) codes.push_back(result.error().code());
  EXPECT_THAT(codes, ElementsAre(0, grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::NOT_FOUND, 0, 0));
  EXPECT_THAT(response.results(1).error().message(), HasSubstr("items[1].create.flow.match.fields[1].mask: "));
  EXPECT_EQ(response.failed_count(), 2u);
  EXPECT_EQ(test_server_.dataplane().flows().size(), 3u);
}

TEST_F(FlowServiceTest, ABatchOfAllOrNothing) {
  const v1::Flow before = MustCreate(UdpFlow(10, 9));
  v1::BatchWriteResponse response;
  const grpc::Status status = Call(*flows_, &Flows::BatchWrite, BadBatch(v1::BATCH_MODE_ALL_OR_NOTHING), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("nothing was changed, since 2 of 5 items failed: 1, 2"));
  v1::BatchWriteResponse details;
  const google::rpc::Status rpc = RpcStatusOf(status);
  ASSERT_EQ(rpc.details_size(), 1);
  ASSERT_TRUE(rpc.details(0).UnpackTo(&details));
  ASSERT_EQ(details.results_size(), 2);
  EXPECT_EQ(details.results(0).index(), 1u);
  EXPECT_EQ(details.results(1).index(), 2u);
  EXPECT_EQ(test_server_.dataplane().flows().size(), 1u);
  v1::GetFlowRequest get;
  *get.mutable_key() = KeyOf(before.id());
  v1::GetFlowResponse got;
  ASSERT_TRUE(Call(*flows_, &Flows::GetFlow, get, &got).ok());
  EXPECT_EQ(got.flow().spec().actions(0).output().port(), 2u);
}

// Errors of a thousand items still reach the client within gRPC's limit on metadata.
TEST_F(FlowServiceTest, AVeryWrongBatchIsStillAnswered) {
  v1::BatchWriteRequest batch;
  for (int i = 0; i < 1000; ++i) {
    *batch.add_items()->mutable_create()->mutable_flow()->mutable_match() =
        MatchBuilder().EthType(1).On(v1::FIELD_VLAN_VID, 5000).On(v1::FIELD_ETH_DST, 1, 0).match();
  }
  batch.set_mode(v1::BATCH_MODE_ALL_OR_NOTHING);
  v1::BatchWriteResponse response;
  const grpc::Status status = Call(*flows_, &Flows::BatchWrite, batch, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::BatchWriteResponse details;
  const google::rpc::Status rpc = RpcStatusOf(status);
  ASSERT_EQ(rpc.details_size(), 1);
  ASSERT_TRUE(rpc.details(0).UnpackTo(&details));
  EXPECT_EQ(details.failed_count(), 1000u);
  EXPECT_GT(details.results_size(), 3);
  batch.set_mode(v1::BATCH_MODE_PER_ITEM);
  ASSERT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &response).ok());
  EXPECT_EQ(response.results_size(), 1000);
}

TEST_F(FlowServiceTest, AnErrorOfTheLongestTextReachesTheClient) {
  v1::CreateFlowRequest request;
  for (int i = 0; i < 5000; ++i) request.mutable_flow()->mutable_match()->add_fields()->set_field(v1::Field(100 + i));
  v1::CreateFlowResponse response;
  const grpc::Status status = Call(*flows_, &Flows::CreateFlow, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("(and 4999 more)"));
  EXPECT_GT(BadRequestOf(status).field_violations_size(), 10);
}

TEST_F(FlowServiceTest, TenThousandItemsFitSixtyThousandAreRefusedByTheLimit) {
  v1::BatchWriteRequest batch;
  batch.set_mode(v1::BATCH_MODE_ALL_OR_NOTHING);
  for (int i = 0; i < 10'000; ++i) *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(100, i);
  v1::BatchWriteResponse response;
  ASSERT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &response).ok());
  EXPECT_EQ(response.results_size(), 10'000);
  EXPECT_EQ(test_server_.dataplane().flows().size(), 10'000u);

  for (int i = 10'000; i < 60'000; ++i) *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(100, i);
  const grpc::Status status = Call(*flows_, &Flows::BatchWrite, batch, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("60000 items; at most 10000 (limits.batch_items)"));
  EXPECT_EQ(test_server_.dataplane().flows().size(), 10'000u);

  v1::DeleteMatchingFlowsResponse deleted;
  ASSERT_TRUE(Call(*flows_, &Flows::DeleteMatchingFlows, {}, &deleted).ok());
  EXPECT_EQ(deleted.deleted_count(), 10'000u);
}

TEST_F(FlowServiceTest, AMessageBeyondTheLimitIsResourceExhausted) {
  v1::BatchWriteRequest batch;
  // One item, made long by a field that nobody reads.
  v1::BatchItem* item = batch.add_items();
  item->GetReflection()->MutableUnknownFields(item)->AddLengthDelimited(15,
                                                                        std::string(MaxRequestBytes(ApiLimits()), 'x'));
  v1::BatchWriteResponse response;
  EXPECT_EQ(Call(*flows_, &Flows::BatchWrite, batch, &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  MustCreate(UdpFlow(1, 1));
}

TEST_F(FlowServiceTest, PagesWithAFilter) {
  v1::BatchWriteRequest batch;
  for (int i = 0; i < 2500; ++i) *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(i % 2 == 0 ? 1 : 2, i);
  v1::BatchWriteResponse written;
  ASSERT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &written).ok());
  v1::ListFlowsRequest request;
  request.mutable_filter()->set_priority(2);
  request.set_page_size(300);
  std::set<uint64_t> ids;
  int pages = 0;
  do {
    v1::ListFlowsResponse page;
    ASSERT_TRUE(Call(*flows_, &Flows::ListFlows, request, &page).ok());
    for (const v1::Flow& flow : page.flows()) {
      EXPECT_EQ(flow.spec().priority(), 2u);
      EXPECT_TRUE(ids.insert(flow.id()).second);
    }
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(ids.size(), 1250u);
  EXPECT_EQ(pages, 5);
  request.set_page_token("no token");
  v1::ListFlowsResponse page;
  const grpc::Status status = Call(*flows_, &Flows::ListFlows, request, &page);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(status).field_violations(0).field(), "page_token");
}

// A client with gRPC's default limits can list whatever is in the table.
TEST_F(FlowServiceTest, PagesEndBelowFourMebibytes) {
  v1::FlowSpec spec;
  *spec.mutable_match() = MatchBuilder().EthType(kIpv6).match();
  for (int i = 0; i < 64; ++i) {
    v1::SetFieldAction* set = spec.add_actions()->mutable_set_field();
    set->set_field(v1::FIELD_IPV6_DST);
    set->set_wide_value(std::string(15, '\x20') + static_cast<char>(i));
  }
  constexpr int kFlows = 2500;
  v1::BatchWriteRequest batch;
  for (int i = 0; i < kFlows; ++i) {
    spec.set_priority(i);
    *batch.add_items()->mutable_create()->mutable_flow() = spec;
  }
  v1::BatchWriteResponse written;
  ASSERT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &written).ok());
  ASSERT_EQ(written.failed_count(), 0u);
  v1::ListFlowsRequest request;
  request.set_page_size(10'000);
  int seen = 0;
  int pages = 0;
  do {
    v1::ListFlowsResponse page;
    const grpc::Status status = Call(*flows_, &Flows::ListFlows, request, &page);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_LT(page.ByteSizeLong(), size_t{4} << 20);
    seen += page.flows_size();
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(seen, kFlows);
  EXPECT_GT(pages, 1);
}

TEST_F(FlowServiceTest, TablesAndMasks) {
  MustCreate(UdpFlow(10, 1));
  MustCreate(UdpFlow(20, 2));
  v1::FlowSpec all;
  all.set_priority(1);
  MustCreate(all);
  v1::ListTablesResponse tables;
  ASSERT_TRUE(Call(*tables_, &v1::TableService::Stub::ListTables, {}, &tables).ok());
  ASSERT_EQ(tables.tables_size(), 1);
  EXPECT_EQ(tables.tables(0).id(), 0u);
  EXPECT_EQ(tables.tables(0).flow_count(), 3u);
  EXPECT_EQ(tables.tables(0).mask_count(), 2u);
  v1::ListMasksResponse masks;
  ASSERT_TRUE(Call(*tables_, &v1::TableService::Stub::ListMasks, {}, &masks).ok());
  ASSERT_EQ(masks.masks_size(), 2);
  EXPECT_EQ(masks.masks(0).max_priority(), 20u);
  EXPECT_EQ(masks.masks(0).flow_count(), 2u);
  ASSERT_EQ(masks.masks(0).fields().fields_size(), 3);
  EXPECT_EQ(masks.masks(0).fields().fields(2).field(), v1::FIELD_TCP_DST) << "the name of a port's place";
  EXPECT_EQ(masks.masks(0).fields().fields(2).mask(), 0xffffu);
  EXPECT_EQ(masks.masks(1).fields().fields_size(), 0);
  v1::ListMasksRequest other;
  other.set_table_id(7);
  ASSERT_TRUE(Call(*tables_, &v1::TableService::Stub::ListMasks, other, &masks).ok());
  EXPECT_EQ(masks.masks_size(), 0);
  other.set_table_id(255);
  EXPECT_EQ(Call(*tables_, &v1::TableService::Stub::ListMasks, other, &masks).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sluice
