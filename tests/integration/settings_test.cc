// Settings over the API: there and back, refused, and changed while packets pass.

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/api_fixture.h"

namespace sluice {
namespace {

using google::protobuf::util::MessageDifferencer;
using Switch = v1::SwitchService::Stub;
using Tables = v1::TableService::Stub;
using testing::MatchBuilder;

// The settings are afterwards what they were before.
class SettingsServiceTest : public ApiTest {
 protected:
  SettingsServiceTest() : before_(Settings()) {}
  ~SettingsServiceTest() override { EXPECT_TRUE(MessageDifferencer::Equals(Change(AllOf(before_)), before_)); }

  static v1::UpdateSettingsRequest AllOf(const v1::Settings& settings) {
    v1::UpdateSettingsRequest request;
    request.set_flow_cache_entries(settings.flow_cache_entries());
    request.set_pruning(settings.pruning());
    request.set_equal_priority(settings.equal_priority());
    request.set_mask_cache_entries(settings.mask_cache_entries());
    *request.mutable_resort_period() = settings.resort_period();
    return request;
  }

  v1::Settings Settings() {
    v1::GetSettingsResponse response;
    EXPECT_TRUE(Call(*switch_, &Switch::GetSettings, {}, &response).ok());
    return response.settings();
  }
  grpc::Status TryChange(const v1::UpdateSettingsRequest& request, v1::UpdateSettingsResponse* response) {
    return Call(*switch_, &Switch::UpdateSettings, request, response);
  }
  v1::Settings Change(const v1::UpdateSettingsRequest& request) {
    v1::UpdateSettingsResponse response;
    const grpc::Status status = TryChange(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.settings();
  }
  v1::Settings SetFlowCache(uint32_t entries) {
    v1::UpdateSettingsRequest request;
    request.set_flow_cache_entries(entries);
    return Change(request);
  }

  v1::GetSwitchResponse Info() {
    v1::GetSwitchResponse response;
    EXPECT_TRUE(Call(*switch_, &Switch::GetSwitch, {}, &response).ok());
    return response;
  }
  uint64_t Hits() { return Info().workers(0).flow_cache_hits(); }
  v1::Table Table() {
    v1::ListTablesResponse response;
    EXPECT_TRUE(Call(*tables_, &Tables::ListTables, {}, &response).ok());
    return response.tables_size() > 0 ? response.tables(0) : v1::Table();
  }
  v1::Mask FirstMask() {
    v1::ListMasksResponse response;
    EXPECT_TRUE(Call(*tables_, &Tables::ListMasks, {}, &response).ok());
    return response.masks_size() > 0 ? response.masks(0) : v1::Mask();
  }

  // A port with endless frames, or none.
  void AddNullPort(uint32_t number, uint32_t frame_bytes) {
    v1::PortSpec spec;
    spec.set_name(absl::StrCat("null", number));
    spec.set_number(number);
    spec.mutable_null()->set_rx_frame_bytes(frame_bytes);
    MustCreatePort(spec);
  }
  // Packets that come in at the source and go out at port 2, under the flow that matches all; its id.
  uint64_t StartPackets(uint32_t source = 1) {
    v1::FlowSpec all;
    all.set_priority(5);
    *all.add_actions() = testing::Output(2);
    const uint64_t id = MustCreate(all).id();
    AddNullPort(2, 0);
    AddNullPort(source, 64);
    return id;
  }
  uint64_t PacketsOf(uint64_t flow) {
    v1::GetFlowRequest request;
    *request.mutable_key() = KeyOf(flow);
    v1::GetFlowResponse response;
    EXPECT_TRUE(Call(*flows_, &v1::FlowService::Stub::GetFlow, request, &response).ok());
    return response.flow().stats().packets();
  }
  // Until so many more have come.
  void AwaitPackets(uint64_t count) {
    const uint64_t enough = Info().totals().received() + count;
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (Info().totals().received() < enough) {
      ASSERT_LT(absl::Now(), end);
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

 private:
  const v1::Settings before_;
};

TEST_F(SettingsServiceTest, TheDefaultsAreThoseOfTheConfiguration) {
  const v1::Settings settings = Settings();
  EXPECT_EQ(settings.flow_cache_entries(), 262'144u);
  EXPECT_TRUE(settings.pruning());
  EXPECT_EQ(settings.equal_priority(), v1::EQUAL_PRIORITY_OLDEST);
  EXPECT_EQ(settings.mask_cache_entries(), 0u);
  EXPECT_EQ(settings.resort_period().seconds(), 4);
}

TEST_F(SettingsServiceTest, WhatIsSetIsReadBackAndTheRestStays) {
  v1::UpdateSettingsRequest request;
  request.set_pruning(false);
  v1::Settings expected = Settings();
  expected.set_pruning(false);
  EXPECT_TRUE(MessageDifferencer::Equals(Change(request), expected));

  expected.set_flow_cache_entries(1000);
  expected.set_equal_priority(v1::EQUAL_PRIORITY_ANY);
  expected.set_mask_cache_entries(256);
  expected.mutable_resort_period()->set_seconds(0);
  expected.mutable_resort_period()->set_nanos(50'000'000);
  EXPECT_TRUE(MessageDifferencer::Equals(Change(AllOf(expected)), expected));
  EXPECT_TRUE(MessageDifferencer::Equals(Settings(), expected));
  EXPECT_TRUE(MessageDifferencer::Equals(Change({}), expected));
}

TEST_F(SettingsServiceTest, ARefusalNamesEveryFieldAndChangesNothing) {
  v1::UpdateSettingsRequest request;
  request.set_pruning(false);
  request.set_flow_cache_entries((1 << 24) + 1);
  request.mutable_resort_period()->set_seconds(-1);
  const v1::Settings before = Settings();
  v1::UpdateSettingsResponse response;
  const grpc::Status status = TryChange(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const google::rpc::BadRequest details = BadRequestOf(status);
  ASSERT_EQ(details.field_violations_size(), 2);
  EXPECT_EQ(details.field_violations(0).field(), "flow_cache_entries");
  EXPECT_EQ(details.field_violations(1).field(), "resort_period");
  EXPECT_TRUE(MessageDifferencer::Equals(Settings(), before));
}

TEST_F(SettingsServiceTest, TheFlowCacheGoesOffAndOnWhilePacketsPass) {
  StartPackets();
  AwaitPackets(10'000);
  EXPECT_GT(Hits(), 0u);

  EXPECT_EQ(SetFlowCache(0).flow_cache_entries(), 0u);
  AwaitPackets(1'000);  // the burst in hand is over
  const uint64_t hits = Hits();
  AwaitPackets(10'000);
  EXPECT_EQ(Hits(), hits);

  EXPECT_EQ(SetFlowCache(4).flow_cache_entries(), 4u);
  AwaitPackets(10'000);
  EXPECT_GT(Hits(), hits);
  const v1::GetSwitchResponse info = Info();
  EXPECT_EQ(info.totals().forwarded(), info.totals().received() - info.totals().drops().at("no_flow"));
}

TEST_F(SettingsServiceTest, MasksAreOrderedOnDemand) {
  v1::UpdateSettingsRequest request;
  request.set_flow_cache_entries(0);  // or no mask is tried
  request.set_equal_priority(v1::EQUAL_PRIORITY_ANY);
  request.mutable_resort_period();  // on demand only
  Change(request);
  v1::FlowSpec unused;
  unused.set_priority(5);
  *unused.mutable_match() = MatchBuilder().On(v1::FIELD_IN_PORT, 7).match();
  MustCreate(unused);
  StartPackets();
  AwaitPackets(10'000);
  EXPECT_EQ(FirstMask().fields().fields_size(), 1);

  v1::ResortMasksResponse response;
  ASSERT_TRUE(Call(*tables_, &Tables::ResortMasks, {}, &response).ok());
  EXPECT_EQ(FirstMask().fields().fields_size(), 0);
  EXPECT_GT(FirstMask().hits(), 0u);
}

// The mask of use is the newer flow's, and it wins; a worker remembers that.
TEST_F(SettingsServiceTest, NoAnswerOutlivesTheChoiceAmongEquals) {
  v1::UpdateSettingsRequest request;
  request.set_flow_cache_entries(0);
  request.set_equal_priority(v1::EQUAL_PRIORITY_ANY);
  request.mutable_resort_period();
  Change(request);
  v1::FlowSpec older;
  older.set_priority(5);
  *older.mutable_match() = MatchBuilder().On(v1::FIELD_IN_PORT, 1).match();
  MustCreate(older);
  const uint64_t newer = StartPackets(3);
  AwaitPackets(1'000);
  v1::ResortMasksResponse resorted;
  ASSERT_TRUE(Call(*tables_, &Tables::ResortMasks, {}, &resorted).ok());
  SetFlowCache(1024);
  v1::DeletePortRequest remove;
  remove.mutable_key()->set_number(3);
  v1::DeletePortResponse removed;
  ASSERT_TRUE(Call(*ports_, &v1::PortService::Stub::DeletePort, remove, &removed).ok());
  const uint64_t before = PacketsOf(newer);
  AddNullPort(1, 64);
  AwaitPackets(1'000);
  EXPECT_GT(PacketsOf(newer), before);

  v1::UpdateSettingsRequest oldest;
  oldest.set_equal_priority(v1::EQUAL_PRIORITY_OLDEST);
  Change(oldest);
  AwaitPackets(1'000);  // the burst in hand is over
  const uint64_t then = PacketsOf(newer);
  AwaitPackets(10'000);
  EXPECT_EQ(PacketsOf(newer), then);
}

TEST_F(SettingsServiceTest, TheIndexIsThereWhilePruningIsOn) {
  constexpr uint32_t kMasks = 20;
  for (uint32_t i = 0; i < kMasks; ++i) {
    v1::FlowSpec spec;
    *spec.mutable_match() = MatchBuilder().On(v1::FIELD_ETH_DST, uint64_t{1} << i, uint64_t{1} << i).match();
    MustCreate(spec);
  }
  EXPECT_EQ(Table().indexed_masks(), kMasks);
  EXPECT_GT(Table().index_bytes(), 0u);
  v1::UpdateSettingsRequest request;
  request.set_pruning(false);
  Change(request);
  EXPECT_EQ(Table().indexed_masks(), 0u);
  EXPECT_EQ(Table().index_bytes(), 0u);
  request.set_pruning(true);
  Change(request);
  EXPECT_EQ(Table().indexed_masks(), kMasks);
}

}  // namespace
}  // namespace sluice
