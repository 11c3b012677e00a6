// FlowService's logic over a real flow table, without gRPC.

#include "server/flow_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/worker/reclaimer.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using testing::BadRequestOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kIpv4;
using testing::MatchBuilder;
using testing::Output;
using testing::SetField;

v1::FlowSpec UdpFlow(uint32_t priority, uint64_t udp_dst) {
  v1::FlowSpec spec;
  spec.set_priority(priority);
  *spec.mutable_match() = MatchBuilder().Ip(kIpv4, 17).On(v1::FIELD_UDP_DST, udp_dst).match();
  *spec.add_actions() = Output(2);
  return spec;
}

v1::FlowKey KeyOf(const v1::FlowSpec& spec) {
  v1::FlowKey key;
  key.mutable_identity()->set_table_id(spec.table_id());
  key.mutable_identity()->set_priority(spec.priority());
  *key.mutable_identity()->mutable_match() = spec.match();
  return key;
}

v1::FlowKey KeyOf(uint64_t id) {
  v1::FlowKey key;
  key.set_id(id);
  return key;
}

class FlowApiTest : public ::testing::Test {
 protected:
  explicit FlowApiTest(FlowTableLimits limits = {}) : flows_(1, limits, reclaimer_) {}

  // Calls a handler and waits for its done.
  template <typename Request, typename Response>
  absl::Status Call(void (FlowApi::*handler)(const Request&, Response*, FlowApi::Done), const Request& request,
                    Response* response) {
    std::promise<absl::Status> promise;
    (api_.*handler)(request, response, [&promise](const absl::Status& status) { promise.set_value(status); });
    return promise.get_future().get();
  }

  absl::StatusOr<v1::CreateFlowResponse> Create(const v1::FlowSpec& spec, bool allow_existing = false,
                                                bool check_overlap = false) {
    v1::CreateFlowRequest request;
    *request.mutable_flow() = spec;
    request.set_allow_existing(allow_existing);
    request.set_check_overlap(check_overlap);
    v1::CreateFlowResponse response;
    const absl::Status status = Call(&FlowApi::CreateFlow, request, &response);
    if (!status.ok()) return status;
    return response;
  }

  absl::StatusOr<v1::Flow> Get(const v1::FlowKey& key) {
    v1::GetFlowRequest request;
    *request.mutable_key() = key;
    v1::GetFlowResponse response;
    const absl::Status status = api_.GetFlow(request, &response);
    if (!status.ok()) return status;
    return response.flow();
  }

  Reclaimer reclaimer_{1};
  FlowTable flows_;
  FlowApi api_{flows_, ApiLimits{.actions_per_flow = 4, .batch_items = 100}};
};

// Also of a flow that is named by its id, whose table the request does not say.
TEST_F(FlowApiTest, AnUpdateSendsPacketsForwardOnly) {
  v1::FlowSpec spec = UdpFlow(100, 53);
  spec.set_table_id(7);
  const auto created = Create(spec);
  ASSERT_TRUE(created.ok());
  v1::UpdateFlowRequest update;
  v1::GotoTableAction& go = *update.add_actions()->mutable_goto_table();
  v1::UpdateFlowResponse updated;
  for (const v1::FlowKey& key : {KeyOf(created->flow().id()), KeyOf(spec)}) {
    *update.mutable_key() = key;
    for (const uint32_t table : {0u, 7u}) {
      go.set_table_id(table);
      EXPECT_THAT(std::string(Call(&FlowApi::UpdateFlow, update, &updated).message()),
                  HasSubstr("not behind the flow's own table 7"));
    }
    go.set_table_id(8);
    EXPECT_TRUE(Call(&FlowApi::UpdateFlow, update, &updated).ok());
  }
}

TEST_F(FlowApiTest, CreateReadUpdateDelete) {
  const auto created = Create(UdpFlow(100, 53));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(created->created());
  const uint64_t id = created->flow().id();
  EXPECT_NE(id, 0u);
  EXPECT_EQ(Get(KeyOf(id))->spec().priority(), 100u);
  EXPECT_EQ(Get(KeyOf(UdpFlow(100, 53)))->id(), id);

  v1::UpdateFlowRequest update;
  *update.mutable_key() = KeyOf(id);
  *update.add_actions() = SetField(v1::FIELD_UDP_SRC, 9);
  *update.add_actions() = Output(3);
  v1::UpdateFlowResponse updated;
  ASSERT_TRUE(Call(&FlowApi::UpdateFlow, update, &updated).ok());
  EXPECT_EQ(updated.flow().id(), id);
  EXPECT_EQ(updated.flow().spec().actions_size(), 2);

  v1::DeleteFlowRequest remove;
  *remove.mutable_key() = KeyOf(UdpFlow(100, 53));
  v1::DeleteFlowResponse removed;
  ASSERT_TRUE(Call(&FlowApi::DeleteFlow, remove, &removed).ok());
  EXPECT_EQ(removed.flow().id(), id);
  EXPECT_TRUE(absl::IsNotFound(Get(KeyOf(id)).status()));
  EXPECT_TRUE(absl::IsNotFound(Call(&FlowApi::DeleteFlow, remove, &removed)));
  EXPECT_TRUE(absl::IsNotFound(Call(&FlowApi::UpdateFlow, update, &updated)));
}

TEST_F(FlowApiTest, AFlowInTheWayIsNamed) {
  const uint64_t id = Create(UdpFlow(100, 53))->flow().id();
  v1::FlowSpec wider = UdpFlow(100, 53);
  *wider.mutable_match() = MatchBuilder().EthType(kIpv4).match();
  for (const absl::Status& status :
       {Create(UdpFlow(100, 53)).status(), Create(wider, false, /*check_overlap=*/true).status()}) {
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
    const google::rpc::Status rpc = ToRpcStatus(status);
    ASSERT_EQ(rpc.details_size(), 1);
    google::rpc::ResourceInfo info;
    ASSERT_TRUE(rpc.details(0).UnpackTo(&info));
    EXPECT_EQ(info.resource_type(), "sluice.v1.Flow");
    EXPECT_EQ(info.resource_name(), absl::StrCat(id));
  }
  const auto replaced = Create(UdpFlow(100, 53), /*allow_existing=*/true);
  ASSERT_TRUE(replaced.ok());
  EXPECT_FALSE(replaced->created());
  EXPECT_EQ(replaced->flow().id(), id);
}

TEST_F(FlowApiTest, ListedFlowsCreatedAgainChangeNothing) {
  for (uint64_t frag : {0, 1, 3}) {
    v1::FlowSpec spec;
    *spec.mutable_match() = MatchBuilder().EthType(kIpv4).On(v1::FIELD_IP_FRAG, frag).match();
    ASSERT_TRUE(Create(spec).ok());
  }
  v1::ListFlowsResponse before;
  ASSERT_TRUE(api_.ListFlows({}, &before).ok());
  ASSERT_EQ(before.flows_size(), 3);
  for (const v1::Flow& flow : before.flows()) {
    const auto again = Create(flow.spec(), /*allow_existing=*/true);
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(again->created());
    EXPECT_EQ(again->flow().id(), flow.id());
  }
}

TEST_F(FlowApiTest, WhatIsWrongInARequestIsNamedByItsPath) {
  v1::CreateFlowResponse created;
  EXPECT_EQ(Call(&FlowApi::CreateFlow, v1::CreateFlowRequest(), &created).message(), "flow: no flow given");
  EXPECT_THAT(std::string(Create(UdpFlow(100, 70000)).status().message()), HasSubstr("flow.match.fields[2].value: "));
  EXPECT_THAT(std::string(Get(v1::FlowKey()).status().message()), HasSubstr("key: names no flow"));

  // The prerequisites of new actions are held against the flow's own match.
  const uint64_t id = Create(UdpFlow(100, 53))->flow().id();
  for (const v1::FlowKey& key : {KeyOf(id), KeyOf(UdpFlow(100, 53))}) {
    v1::UpdateFlowRequest update;
    *update.mutable_key() = key;
    *update.add_actions() = SetField(v1::FIELD_TCP_SRC, 9);
    v1::UpdateFlowResponse updated;
    EXPECT_THAT(std::string(Call(&FlowApi::UpdateFlow, update, &updated).message()),
                HasSubstr("actions[0].set_field.field: writing tcp_src needs"));
  }
}

TEST_F(FlowApiTest, DeleteMatchingTakesWhatTheFilterSelects) {
  for (uint64_t port = 1; port <= 10; ++port) ASSERT_TRUE(Create(UdpFlow(port <= 4 ? 5 : 6, port)).ok());
  v1::DeleteMatchingFlowsRequest request;
  request.mutable_filter()->set_priority(5);
  v1::DeleteMatchingFlowsResponse response;
  ASSERT_TRUE(Call(&FlowApi::DeleteMatchingFlows, request, &response).ok());
  EXPECT_EQ(response.deleted_count(), 4u);
  EXPECT_EQ(flows_.size(), 6u);
  request.mutable_filter()->set_priority(70000);
  EXPECT_TRUE(absl::IsInvalidArgument(Call(&FlowApi::DeleteMatchingFlows, request, &response)));
  EXPECT_EQ(flows_.size(), 6u);
}

TEST_F(FlowApiTest, PagesHoldEveryFlowOnce) {
  constexpr int kFlows = 1500;
  for (int i = 0; i < kFlows; ++i) ASSERT_TRUE(Create(UdpFlow(i % 2 == 0 ? 1 : 2, i)).ok());
  for (const uint32_t page_size : {0u, 1u, 7u, 512u, 513u, 1500u, 10'000u}) {
    v1::ListFlowsRequest request;
    request.set_page_size(page_size);
    std::vector<uint64_t> ids;
    for (;;) {
      v1::ListFlowsResponse page;
      ASSERT_TRUE(api_.ListFlows(request, &page).ok());
      EXPECT_LE(page.flows_size(), page_size == 0 ? 1000 : static_cast<int>(page_size));
      for (const v1::Flow& flow : page.flows()) ids.push_back(flow.id());
      if (page.next_page_token().empty()) break;
      EXPECT_GT(page.flows_size(), 0);
      request.set_page_token(page.next_page_token());
    }
    EXPECT_EQ(ids.size(), static_cast<size_t>(kFlows));
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(std::set<uint64_t>(ids.begin(), ids.end()).size(), ids.size());
  }
  v1::ListFlowsRequest filtered;
  filtered.set_page_size(1000);
  filtered.mutable_filter()->set_priority(2);
  v1::ListFlowsResponse page;
  ASSERT_TRUE(api_.ListFlows(filtered, &page).ok());
  EXPECT_EQ(page.flows_size(), kFlows / 2);
  EXPECT_EQ(page.next_page_token(), "");
}

TEST_F(FlowApiTest, TokensBelongToAFilterAndAStart) {
  for (uint64_t port = 1; port <= 3; ++port) ASSERT_TRUE(Create(UdpFlow(5, port)).ok());
  v1::ListFlowsRequest request;
  request.set_page_size(2);
  v1::ListFlowsResponse page;
  ASSERT_TRUE(api_.ListFlows(request, &page).ok());
  const std::string token = page.next_page_token();
  std::string damaged = token;
  damaged[10] = damaged[10] == '0' ? '1' : '0';

  FlowApi other_start(flows_, ApiLimits{});
  v1::ListFlowsRequest again = request;
  again.set_page_token(token);
  page.Clear();
  EXPECT_TRUE(api_.ListFlows(again, &page).ok());
  EXPECT_EQ(page.flows_size(), 1);
  page.Clear();
  EXPECT_THAT(std::string(other_start.ListFlows(again, &page).message()), HasSubstr("page_token: not a token"));
  again.mutable_filter()->set_priority(5);
  EXPECT_TRUE(absl::IsInvalidArgument(api_.ListFlows(again, &page)));
  again.clear_filter();
  for (const std::string& wrong : {damaged, token.substr(1), std::string("x"), std::string(32, 'g'), token + "0"}) {
    again.set_page_token(wrong);
    EXPECT_TRUE(absl::IsInvalidArgument(api_.ListFlows(again, &page))) << wrong;
  }
  request.set_page_size(10'001);
  EXPECT_THAT(std::string(api_.ListFlows(request, &page).message()), HasSubstr("page_size: 10001 flows"));
}

// F1 is right, the second names a bad field, the third no flow, F2 and the update are right.
v1::BatchWriteRequest BadBatch(v1::BatchMode mode) {
  v1::BatchWriteRequest batch;
  batch.set_mode(mode);
  *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(100, 1);
  v1::FlowSpec bad = UdpFlow(100, 2);
  *bad.mutable_match() = MatchBuilder().EthType(kIpv4).On(v1::FIELD_IPV4_DST, 0x0a000001, 0xff000000).match();
  *batch.add_items()->mutable_create()->mutable_flow() = bad;
  *batch.add_items()->mutable_delete_()->mutable_key() = KeyOf(UdpFlow(100, 999));
  *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(100, 3);
  v1::UpdateFlowRequest& update = *batch.add_items()->mutable_update();
  *update.mutable_key() = KeyOf(UdpFlow(10, 9));
  *update.add_actions() = Output(3);
  return batch;
}

TEST_F(FlowApiTest, ABatchThatFailsInPartSaysWhichItems) {
  ASSERT_TRUE(Create(UdpFlow(10, 9)).ok());
  v1::BatchWriteResponse response;
  ASSERT_TRUE(Call(&FlowApi::BatchWrite, BadBatch(v1::BATCH_MODE_PER_ITEM), &response).ok());
  std::vector<int> codes;
  for (const auto& result : response.results()) codes.push_back(result.error().code());
  EXPECT_THAT(codes, ElementsAre(0, 3, 5, 0, 0));
  EXPECT_EQ(response.failed_count(), 2u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(response.results(i).index(), static_cast<uint32_t>(i));
    EXPECT_EQ(response.results(i).flow_id() != 0, codes[i] == 0);
    EXPECT_EQ(response.results(i).has_error(), codes[i] != 0);
  }
  google::rpc::BadRequest details;
  ASSERT_EQ(response.results(1).error().details_size(), 1);
  ASSERT_TRUE(response.results(1).error().details(0).UnpackTo(&details));
  EXPECT_EQ(details.field_violations(0).field(), "items[1].create.flow.match.fields[1].value");
  EXPECT_EQ(flows_.size(), 3u);
  EXPECT_EQ(Get(KeyOf(UdpFlow(10, 9)))->spec().actions(0).output().port(), 3u);
}

TEST_F(FlowApiTest, ABatchOfAllOrNothingChangesNothing) {
  ASSERT_TRUE(Create(UdpFlow(10, 9)).ok());
  v1::BatchWriteResponse response;
  const absl::Status status = Call(&FlowApi::BatchWrite, BadBatch(v1::BATCH_MODE_ALL_OR_NOTHING), &response);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << "the first failed item's code";
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("item 1: items[1].create.flow.match"), HasSubstr("2 of 5 items failed: 1, 2")));
  google::rpc::Status rpc;
  ASSERT_TRUE(rpc.ParseFromString(ToWireStatus(status).details));
  v1::BatchWriteResponse details;
  ASSERT_EQ(rpc.details_size(), 1);
  ASSERT_TRUE(rpc.details(0).UnpackTo(&details));
  EXPECT_EQ(details.failed_count(), 2u);
  ASSERT_EQ(details.results_size(), 2);
  EXPECT_EQ(details.results(0).index(), 1u);
  EXPECT_EQ(details.results(0).error().code(), 3);
  EXPECT_EQ(details.results(1).index(), 2u);
  EXPECT_EQ(details.results(1).error().code(), 5);
  EXPECT_EQ(flows_.size(), 1u);
  EXPECT_EQ(Get(KeyOf(UdpFlow(10, 9)))->spec().actions(0).output().port(), 2u);
}

TEST_F(FlowApiTest, ABatchOfDeletesReturnsFinalCounters) {
  v1::BatchWriteRequest batch;
  for (uint64_t port = 1; port <= 3; ++port) {
    *batch.add_items()->mutable_delete_()->mutable_key() = KeyOf(Create(UdpFlow(1, port))->flow().id());
  }
  batch.set_validate_only(true);
  v1::BatchWriteResponse response;
  ASSERT_TRUE(Call(&FlowApi::BatchWrite, batch, &response).ok());
  EXPECT_EQ(response.failed_count(), 0u);
  EXPECT_EQ(flows_.size(), 3u) << "validate_only changes nothing";
  batch.set_validate_only(false);
  batch.set_mode(v1::BATCH_MODE_ALL_OR_NOTHING);
  response.Clear();
  ASSERT_TRUE(Call(&FlowApi::BatchWrite, batch, &response).ok());
  ASSERT_EQ(response.results_size(), 3);
  for (const auto& result : response.results()) EXPECT_TRUE(result.has_stats());
  EXPECT_EQ(flows_.size(), 0u);
}

TEST_F(FlowApiTest, LimitsOfABatch) {
  v1::BatchWriteRequest batch;
  for (int i = 0; i < 101; ++i) *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(1, i);
  v1::BatchWriteResponse response;
  const absl::Status status = Call(&FlowApi::BatchWrite, batch, &response);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("items: 101 items; at most 100 (limits.batch_items)"));
  EXPECT_EQ(flows_.size(), 0u);

  batch.clear_items();
  batch.set_mode(static_cast<v1::BatchMode>(7));
  EXPECT_THAT(std::string(Call(&FlowApi::BatchWrite, batch, &response).message()), HasSubstr("mode: unknown mode 7"));
  batch.clear_mode();
  EXPECT_TRUE(Call(&FlowApi::BatchWrite, batch, &response).ok()) << "an empty batch is none";
  batch.add_items();
  ASSERT_TRUE(Call(&FlowApi::BatchWrite, batch, &response).ok());
  EXPECT_THAT(response.results(0).error().message(), HasSubstr("items[0]: an empty item: one of create"));
}

class SmallTableTest : public FlowApiTest {
 protected:
  SmallTableTest() : FlowApiTest(FlowTableLimits{.max_flows = 2, .max_masks_per_table = 1}) {}
};

TEST_F(SmallTableTest, LimitsOfTheTableAreResourceExhausted) {
  ASSERT_TRUE(Create(UdpFlow(1, 1)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Create(v1::FlowSpec()).status())) << "a second mask";
  ASSERT_TRUE(Create(UdpFlow(1, 2)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Create(UdpFlow(1, 3)).status())) << "a third flow";
}

// Many writers and readers at once: for ThreadSanitizer, and each finds its own flows as it left them.
TEST_F(FlowApiTest, ConcurrentClientsDoNotDisturbEachOther) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 200; ++i) {
        const v1::FlowSpec spec = UdpFlow(t, i % 50);
        const auto created = Create(spec, /*allow_existing=*/true);
        ASSERT_TRUE(created.ok());
        EXPECT_EQ(Get(KeyOf(spec))->id(), created->flow().id());
        v1::ListFlowsResponse page;
        v1::ListFlowsRequest list;
        list.mutable_filter()->set_priority(t);
        EXPECT_TRUE(api_.ListFlows(list, &page).ok());
        if (i % 3 != 0) continue;
        v1::DeleteFlowRequest remove;
        *remove.mutable_key() = KeyOf(created->flow().id());
        v1::DeleteFlowResponse removed;
        EXPECT_TRUE(Call(&FlowApi::DeleteFlow, remove, &removed).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sluice
