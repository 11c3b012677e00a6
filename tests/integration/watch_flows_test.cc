// WatchFlows as clients see it.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "dataplane/flow/flow_events.h"
#include "server/flow_watch.h"
#include "tests/integration/api_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Flows = v1::FlowService::Stub;

// An open watch, read message by message.
class Watch {
 public:
  Watch(Flows& stub, const v1::WatchFlowsRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
    reader_ = stub.WatchFlows(&context_, request);
  }
  ~Watch() {
    if (reader_ != nullptr) Cancel();
  }

  // False: the stream has ended.
  bool Read() {
    v1::WatchFlowsResponse message;
    if (!reader_->Read(&message)) return false;
    if (!message.resume_token().empty()) token_ = message.resume_token();
    for (v1::FlowEvent& event : *message.mutable_events()) events_.push_back(std::move(event));
    return true;
  }
  // Waits for so many events in all.
  std::vector<v1::FlowEvent>& Events(size_t count) {
    while (events_.size() < count && Read()) {
    }
    EXPECT_GE(events_.size(), count);
    return events_;
  }
  // Events may follow in the same message.
  std::vector<v1::FlowEvent>& UntilSynced() {
    while (std::ranges::none_of(events_, &v1::FlowEvent::has_synced) && Read()) {
    }
    return events_;
  }
  grpc::Status Finish() {
    grpc::Status status = reader_->Finish();
    reader_.reset();
    return status;
  }
  grpc::Status Cancel() {
    context_.TryCancel();
    while (Read()) {
    }
    return Finish();
  }
  const std::string& token() const { return token_; }
  grpc::ClientContext& context() { return context_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchFlowsResponse>> reader_;
  std::vector<v1::FlowEvent> events_;
  std::string token_;
};

// "created 7", "removed 7 DELETE", "synced".
std::string Say(const v1::FlowEvent& event) {
  switch (event.event_case()) {
    case v1::FlowEvent::kCurrent:
      return absl::StrCat("current ", event.current().spec().priority());
    case v1::FlowEvent::kCreated:
      return absl::StrCat("created ", event.created().spec().priority());
    case v1::FlowEvent::kModified:
      return absl::StrCat("modified ", event.modified().spec().priority());
    case v1::FlowEvent::kRemoved:
      return absl::StrCat("removed ", event.removed().flow().spec().priority(), " ",
                          v1::FlowRemovedReason_Name(event.removed().reason()).substr(20));
    case v1::FlowEvent::kSynced:
      return "synced";
    case v1::FlowEvent::kMissed:
      return absl::StrCat("missed ", event.missed().count());
    default:
      return "?";
  }
}

std::vector<std::string> Say(const std::vector<v1::FlowEvent>& events) {
  std::vector<std::string> said;
  for (const v1::FlowEvent& event : events) said.push_back(Say(event));
  return said;
}

class WatchFlowsTest : public ApiTest {
 protected:
  // Returns once events are kept for it.
  std::unique_ptr<Watch> Open(const v1::WatchFlowsRequest& request = {}) {
    auto watch = std::make_unique<Watch>(*flows_, request);
    EXPECT_TRUE(watch->Read());
    return watch;
  }
  void Update(const v1::FlowSpec& spec, uint64_t cookie) {
    v1::UpdateFlowRequest request;
    *request.mutable_key() = KeyOf(spec);
    *request.mutable_actions() = spec.actions();
    request.set_cookie(cookie);
    v1::UpdateFlowResponse response;
    EXPECT_TRUE(Call(*flows_, &Flows::UpdateFlow, request, &response).ok());
  }
  void Delete(const v1::FlowSpec& spec) {
    v1::DeleteFlowRequest request;
    *request.mutable_key() = KeyOf(spec);
    v1::DeleteFlowResponse response;
    EXPECT_TRUE(Call(*flows_, &Flows::DeleteFlow, request, &response).ok());
  }
  // Adds flows with priorities from `first` on in batches.
  void AddMany(uint32_t first, uint32_t count) {
    AddEach(first, count, [](uint32_t i) { return UdpFlow(i, 1); });
  }
  // Adds flows to ports from `first` on: as quick as loading is, since no two have one match.
  void AddToPorts(uint32_t first, uint32_t count) {
    AddEach(first, count, [](uint32_t i) { return UdpFlow(1, i); });
  }
  template <typename MakeFlow>
  void AddEach(uint32_t first, uint32_t count, MakeFlow make) {
    v1::BatchWriteRequest batch;
    for (uint32_t i = 0; i < count; ++i) {
      *batch.add_items()->mutable_create()->mutable_flow() = make(first + i);
      if (batch.items_size() < 5000 && i + 1 < count) continue;
      v1::BatchWriteResponse response;
      EXPECT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &response).ok());
      EXPECT_EQ(response.failed_count(), 0u);
      batch.clear_items();
    }
  }
  // Streams end a moment after the client has.
  void WaitForNoWatchers() {
    const absl::Time end = absl::Now() + absl::Seconds(5);
    while (test_server_.watches().open() > 0 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(2));
    EXPECT_EQ(test_server_.watches().open(), 0u);
  }
  ~WatchFlowsTest() override { WaitForNoWatchers(); }
};

TEST_F(WatchFlowsTest, WhatHappensIsToldInItsOrder) {
  MustCreate(UdpFlow(1, 1));
  const auto watch = Open();
  const v1::Flow created = MustCreate(UdpFlow(2, 1));
  Update(UdpFlow(2, 1), 77);
  v1::CreateFlowRequest again;
  *again.mutable_flow() = UdpFlow(2, 1);
  again.set_allow_existing(true);
  v1::CreateFlowResponse response;
  ASSERT_TRUE(Call(*flows_, &Flows::CreateFlow, again, &response).ok());
  Delete(UdpFlow(2, 1));
  v1::FlowSpec timed = UdpFlow(3, 1), hard = UdpFlow(4, 1);
  timed.mutable_idle_timeout()->set_seconds(1);
  MustCreate(timed);
  auto& events = watch->Events(6);
  EXPECT_THAT(Say(events), ElementsAre("created 2", "modified 2", "modified 2", "removed 2 DELETE", "created 3",
                                       "removed 3 IDLE_TIMEOUT"));
  for (size_t i = 1; i < events.size(); ++i) EXPECT_EQ(events[i].sequence(), events[0].sequence() + i);
  EXPECT_EQ(events[0].created().id(), created.id());
  EXPECT_EQ(events[1].modified().spec().cookie(), 77u);
  EXPECT_EQ(events[3].removed().flow().id(), created.id());
  EXPECT_EQ(events[4].created().spec().idle_timeout().seconds(), 1);
  hard.mutable_hard_timeout()->set_seconds(1);
  MustCreate(hard);
  EXPECT_EQ(Say(watch->Events(8)[7]), "removed 4 HARD_TIMEOUT");
}

TEST_F(WatchFlowsTest, OfABatchOnlyWhatWasCommitted) {
  const v1::FlowSpec old = UdpFlow(10, 9);
  MustCreate(old);
  const auto watch = Open();
  v1::BatchWriteRequest batch;
  *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(11, 1);
  batch.add_items()->mutable_create()->mutable_flow()->set_priority(70000);
  *batch.add_items()->mutable_delete_()->mutable_key() = KeyOf(UdpFlow(12, 1));
  *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(13, 1);
  *batch.add_items()->mutable_update()->mutable_key() = KeyOf(old);
  *batch.add_items()->mutable_delete_()->mutable_key() = KeyOf(UdpFlow(11, 1));
  *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(11, 1);
  v1::BatchWriteResponse response;
  batch.set_mode(v1::BATCH_MODE_ALL_OR_NOTHING);
  EXPECT_FALSE(Call(*flows_, &Flows::BatchWrite, batch, &response).ok());
  batch.set_mode(v1::BATCH_MODE_PER_ITEM);
  batch.set_validate_only(true);
  EXPECT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &response).ok());
  batch.set_validate_only(false);
  EXPECT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &response).ok());
  EXPECT_THAT(Say(watch->Events(5)),
              ElementsAre("created 11", "created 13", "modified 10", "removed 11 DELETE", "created 11"));
}

TEST_F(WatchFlowsTest, AFilterSelects) {
  v1::WatchFlowsRequest request;
  request.mutable_filter()->set_cookie(7);
  request.mutable_filter()->set_cookie_mask(0xff);
  request.mutable_filter()->set_out_port(2);
  request.set_send_current(true);
  v1::FlowSpec ours = UdpFlow(1, 1), other = UdpFlow(2, 1);
  ours.set_cookie(0x107);
  other.set_cookie(8);
  MustCreate(ours);
  MustCreate(other);
  const auto watch = Open(request);
  EXPECT_THAT(Say(watch->UntilSynced()), ElementsAre("current 1", "synced"));
  Update(other, 9);
  Update(ours, 7);
  EXPECT_EQ(Say(watch->Events(3)[2]), "modified 1");
  request.mutable_filter()->set_priority(70000);
  Watch refused(*flows_, request);
  EXPECT_FALSE(refused.Read());
  const grpc::Status status = refused.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(status).field_violations(0).field(), "filter.priority");
}

// What a client holds that applies events to what it knows.
class Mirror {
 public:
  void Apply(const v1::FlowEvent& event) {
    switch (event.event_case()) {
      case v1::FlowEvent::kCurrent:
        return New(event.current());
      case v1::FlowEvent::kCreated:
        return New(event.created());
      case v1::FlowEvent::kModified:
        EXPECT_TRUE(flows_.contains(event.modified().id())) << "modified, and not known";
        EXPECT_NE(flows_[event.modified().id()], event.modified().spec().cookie()) << "told twice";
        flows_[event.modified().id()] = event.modified().spec().cookie();
        return;
      case v1::FlowEvent::kRemoved:
        EXPECT_EQ(flows_.erase(event.removed().flow().id()), 1u) << "removed, and not known";
        return;
      case v1::FlowEvent::kMissed:
        ADD_FAILURE() << "missed " << event.missed().count();
        return;
      default:
        return;
    }
  }
  const std::map<uint64_t, uint64_t>& flows() const { return flows_; }  // cookies by id

 private:
  void New(const v1::Flow& flow) {
    EXPECT_TRUE(flows_.emplace(flow.id(), flow.spec().cookie()).second) << "known already";
  }

  std::map<uint64_t, uint64_t> flows_;
};

// While flows come, change and go, watches begin; each must hold the truth. What a watch has not read yet the switch
// keeps, up to its limit: each watch has a share of that while it begins, however slow it is.
TEST_F(WatchFlowsTest, BetweenCurrentFlowsAndEventsIsNeitherGapNorDouble) {
  constexpr uint32_t kFlows = 20'000, kShare = 400;  // batches, of 32 changes each
  AddToPorts(0, kFlows);
  std::atomic<bool> stop = false;
  std::atomic<uint32_t> batches_allowed = kShare;
  std::thread writer([&] {
    uint64_t cookie = 1;
    const auto stub = v1::FlowService::NewStub(test_server_.channel());
    for (uint32_t i = 0, batches = 0; !stop; i = (i + 997) % kFlows, ++batches) {
      while (batches >= batches_allowed && !stop) absl::SleepFor(absl::Milliseconds(1));
      v1::BatchWriteRequest batch;
      for (uint32_t k = i; k < i + 30; ++k) {
        v1::UpdateFlowRequest* update = batch.add_items()->mutable_update();
        *update->mutable_key() = KeyOf(UdpFlow(1, k % kFlows));
        update->set_cookie(++cookie);
      }
      *batch.add_items()->mutable_delete_()->mutable_key() = KeyOf(UdpFlow(1, i));
      *batch.add_items()->mutable_create()->mutable_flow() = UdpFlow(1, i);
      v1::BatchWriteResponse response;
      EXPECT_TRUE(Call(*stub, &Flows::BatchWrite, batch, &response).ok());
    }
  });
  v1::WatchFlowsRequest request;
  request.set_send_current(true);
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 4; ++i) {
    watches.push_back(Open(request));
    watches.back()->UntilSynced();
    batches_allowed += kShare;
  }
  stop = true;
  writer.join();
  v1::FlowSpec last = UdpFlow(50'000, 1);
  MustCreate(last);
  std::map<uint64_t, uint64_t> truth;
  for (const FlowInfo& flow : test_server_.dataplane().flows().List({}, 0, 100'000)) truth[flow.id] = flow.spec.cookie;
  for (const auto& watch : watches) {
    size_t read = 0;
    Mirror mirror;
    for (bool done = false; !done;) {
      auto& events = watch->Events(read + 1);
      for (; read < events.size(); ++read) {
        mirror.Apply(events[read]);
        done |= events[read].has_created() && events[read].created().spec().priority() == 50'000;
      }
    }
    EXPECT_EQ(mirror.flows(), truth);
  }
}

// A client that reads one message while many flows are added, again and again.
TEST_F(WatchFlowsTest, HoweverFastFlowsAreAddedTheListComesToItsEnd) {
  constexpr uint32_t kFlows = 3000, kMeanwhile = 700;
  FlowTable& table = test_server_.dataplane().flows();
  const uint64_t before = table.events().last();
  // With all events published, so that none of the turns below is for nothing.
  const auto add = [&](uint32_t first, uint32_t count) {
    AddToPorts(first, count);
    while (table.events().last() < before + first + count) absl::SleepFor(absl::Milliseconds(1));
  };
  add(0, kFlows);
  v1::WatchFlowsRequest request;
  request.set_send_current(true);
  const auto watch = FlowWatch::Start(table, "boot", request);
  ASSERT_TRUE(watch.ok()) << watch.status();
  Mirror mirror;
  v1::WatchFlowsResponse message;
  uint32_t next = kFlows;
  bool synced = false;
  for (int messages = 0; !synced && messages < 40; ++messages, next += kMeanwhile) {
    add(next, kMeanwhile);
    (*watch)->Next(&message);
    for (const v1::FlowEvent& event : message.events()) {
      synced |= event.has_synced();
      mirror.Apply(event);
    }
  }
  ASSERT_TRUE(synced) << next << " flows, and no end";
  const absl::Time end = absl::Now() + absl::Seconds(30);
  while (mirror.flows().size() < next && absl::Now() < end) {
    (*watch)->Next(&message);
    for (const v1::FlowEvent& event : message.events()) mirror.Apply(event);
  }
  EXPECT_EQ(mirror.flows().size(), next);
}

// A watcher whose filter selects nothing has much to go through, and still lets others have their turn.
TEST_F(WatchFlowsTest, AWatchThatSaysNothingGivesWayToOthers) {
  AddToPorts(0, 30'000);
  v1::WatchFlowsRequest request;
  request.set_send_current(true);
  request.mutable_filter()->set_cookie(5);
  request.mutable_filter()->set_cookie_mask(5);
  const auto watch = FlowWatch::Start(test_server_.dataplane().flows(), "boot", request);
  ASSERT_TRUE(watch.ok()) << watch.status();
  v1::WatchFlowsResponse message;
  EXPECT_TRUE((*watch)->Next(&message));
  int turns = 0;
  while (!(*watch)->Next(&message)) {
    turns += (*watch)->behind();
    // Else what was added is not published yet.
    if (!(*watch)->behind()) absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_GE(turns, 2);
  ASSERT_EQ(message.events_size(), 1);
  EXPECT_TRUE(message.events(0).has_synced());
  EXPECT_THAT(Say(Open(request)->UntilSynced()), ElementsAre("synced")) << "the watches' thread comes back by itself";
}

TEST_F(WatchFlowsTest, ATokenGoesOnWhereItWas) {
  auto first = Open();
  const std::string at_once = first->token();
  MustCreate(UdpFlow(1, 1));
  first->Events(1);
  v1::WatchFlowsRequest request;
  request.set_resume_token(first->token());
  first->Cancel();
  MustCreate(UdpFlow(2, 1));
  Delete(UdpFlow(1, 1));
  const auto second = Open(request);
  MustCreate(UdpFlow(3, 1));
  EXPECT_THAT(Say(second->Events(3)), ElementsAre("created 2", "removed 1 DELETE", "created 3"));
  request.set_resume_token(at_once);
  request.set_send_current(true);
  EXPECT_THAT(Say(Open(request)->Events(4)), ElementsAre("created 1", "created 2", "removed 1 DELETE", "created 3"))
      << "it knows the flows, and no event is lost";
}

TEST_F(WatchFlowsTest, ATokenOfAnotherStartOrOfNothing) {
  MustCreate(UdpFlow(1, 1));
  v1::WatchFlowsRequest request;
  request.set_resume_token("0123456789abcdef:5");
  {
    const auto watch = Open(request);
    MustCreate(UdpFlow(2, 1));
    EXPECT_THAT(Say(watch->Events(2)), ElementsAre("missed 0", "created 2"));
  }
  request.set_send_current(true);
  EXPECT_THAT(Say(Open(request)->UntilSynced()), ElementsAre("missed 0", "current 1", "current 2", "synced"));
  const std::string boot = test_server_.identity().boot_id;
  for (const std::string& bad :
       {std::string("x"), boot, boot + ":", boot + ":x", boot + ":999999999", std::string(":5"), boot + ":-1"}) {
    request.set_resume_token(bad);
    Watch watch(*flows_, request);
    EXPECT_FALSE(watch.Read());
    const grpc::Status status = watch.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << bad;
    EXPECT_EQ(BadRequestOf(status).field_violations(0).field(), "resume_token");
  }
}

// With ThreadSanitizer so many events take minutes.
#ifndef SLUICE_SANITIZED_THREAD
TEST_F(WatchFlowsTest, AClientThatReadsNothingMissesAndHoldsUpNobody) {
  const auto slow = Open();
  const auto fast = Open();
  const uint64_t missed_before = test_server_.watches().missed();
  uint64_t told = 0, sequence = 0;
  // More than the ring and all buffers on the way hold.
  for (int round = 0; round < 4; ++round) {
    AddMany(0, 20'000);
    v1::DeleteMatchingFlowsResponse deleted;
    ASSERT_TRUE(Call(*flows_, &Flows::DeleteMatchingFlows, {}, &deleted).ok());
    EXPECT_EQ(deleted.deleted_count(), 20'000u);
    for (const size_t until = told + 40'000; told < until;) {
      const size_t before = told;
      told = fast->Events(told + 1).size();
      for (size_t i = before; i < told; ++i) {
        const v1::FlowEvent& event = fast->Events(0)[i];
        ASSERT_FALSE(event.has_missed()) << "the other is slow, not this one";
        if (sequence != 0) ASSERT_EQ(event.sequence(), sequence + 1);
        sequence = event.sequence();
      }
    }
  }
  MustCreate(UdpFlow(60'000, 1));
  uint64_t missed = 0, seen = 0;
  for (bool end = false; !end;) {
    auto& events = slow->Events(seen + 1);
    for (; seen < events.size(); ++seen) {
      missed += events[seen].missed().count();
      end |= events[seen].has_created() && events[seen].created().spec().priority() == 60'000;
    }
  }
  uint64_t markers = 0;
  for (const v1::FlowEvent& event : slow->Events(0)) markers += event.has_missed();
  EXPECT_GE(markers, 1u);
  EXPECT_GT(missed, 1'000u) << "what lies on the way holds some";
  EXPECT_EQ(missed + seen - markers, told + 1) << "each event is told or counted as missed";
  EXPECT_EQ(test_server_.watches().missed() - missed_before, missed);
}
#endif

TEST_F(WatchFlowsTest, ThereAreOnlySoMany) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (uint32_t i = 0; i < TestServer::kWatchers; ++i) watches.push_back(Open());
  Watch one_more(*flows_, {});
  EXPECT_FALSE(one_more.Read());
  const grpc::Status status = one_more.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("limits.watchers allows: 8"));
  EXPECT_EQ(watches.back()->Cancel().error_code(), grpc::StatusCode::CANCELLED);
  watches.pop_back();
  const absl::Time end = absl::Now() + absl::Seconds(5);
  while (test_server_.watches().open() == TestServer::kWatchers && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_LT(test_server_.watches().open(), TestServer::kWatchers) << "a client that is gone makes room";
  Open();
}

TEST_F(WatchFlowsTest, ClientsThatVanishLeaveNothing) {
  for (int round = 0; round < 200; ++round) {
    v1::WatchFlowsRequest request;
    request.set_send_current(round % 2 == 0);
    {
      Watch watch(*flows_, request);
      if (round % 3 == 0) watch.Read();
      MustCreate(UdpFlow(static_cast<uint32_t>(round), 1));
    }
    if (round % 8 == 7) WaitForNoWatchers();
  }
}

}  // namespace
}  // namespace sluice
