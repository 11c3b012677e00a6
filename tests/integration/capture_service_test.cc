// CaptureService over gRPC. A ring port receives what it sends, so that a packet
// sent there goes out, comes in again, and is dropped or matched.

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/integration/api_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Captures = v1::CaptureService::Stub;

// A call of Capture, which ends with it.
class CaptureCall {
 public:
  explicit CaptureCall(Captures& stub, const v1::CaptureRequest& request = {}) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    reader_ = stub.Capture(&context_, request);
    // Without packets: it captures from here on. Or it is refused.
    begun_ = reader_->Read(&response_);
    if (begun_) EXPECT_EQ(response_.packets_size(), 0);
  }
  ~CaptureCall() {
    if (reader_ != nullptr) Cancel();
  }

  bool begun() const { return begun_; }
  // The next packet; false: the call has ended.
  bool Next(v1::CapturedPacket* packet) {
    while (at_ == response_.packets_size()) {
      at_ = 0;
      if (!reader_->Read(&response_)) return false;
    }
    *packet = response_.packets(at_++);
    return true;
  }
  v1::CapturedPacket Next() {
    v1::CapturedPacket packet;
    EXPECT_TRUE(Next(&packet)) << "the call has ended";
    return packet;
  }
  const v1::CaptureResponse& response() const { return response_; }
  bool Read() { return reader_->Read(&response_); }
  grpc::Status Finish() { return std::exchange(reader_, nullptr)->Finish(); }
  grpc::Status Cancel() {
    context_.TryCancel();
    return Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::CaptureResponse>> reader_;
  v1::CaptureResponse response_;
  int at_ = 0;
  bool begun_ = false;
};

class CaptureServiceTest : public ApiTest {
 protected:
  CaptureServiceTest() {
    MustCreatePort(Ring("r1", 1));
    to_port_.add_actions()->mutable_output()->set_port(1);
  }
  ~CaptureServiceTest() override { WaitForCaptures(0); }

  // Into the ring, and so back in.
  void MustSend(const std::string& frame) {
    to_port_.set_data(frame);
    v1::SendPacketResponse response;
    const grpc::Status status = Call(*packets_, &v1::PacketService::Stub::SendPacket, to_port_, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.forwarded()) << response.drop_reason();
  }
  void WaitForCaptures(uint64_t n) {
    for (int i = 0; i < 6000 && test_server_.captures().counters().captures != n; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(test_server_.captures().counters().captures, n);
  }
  static v1::CaptureRequest OfPort(const std::string& name) {
    v1::CaptureRequest request;
    request.mutable_port()->set_name(name);
    return request;
  }
  grpc::Status Refusal(const v1::CaptureRequest& request) {
    CaptureCall call(*captures_, request);
    EXPECT_FALSE(call.begun());
    return call.Finish();
  }

  v1::SendPacketRequest to_port_;
};

TEST_F(CaptureServiceTest, APortSeesWhatGoesOutComesInAndIsDropped) {
  CaptureCall call(*captures_, OfPort("r1"));
  MustSend(Frame(100));
  for (const v1::CaptureDirection direction :
       {v1::CAPTURE_DIRECTION_OUT, v1::CAPTURE_DIRECTION_IN, v1::CAPTURE_DIRECTION_DROPPED}) {
    const v1::CapturedPacket packet = call.Next();
    EXPECT_EQ(packet.direction(), direction);
    EXPECT_EQ(packet.data(), Frame(100));
    EXPECT_EQ(packet.length(), 100u);
    EXPECT_EQ(packet.port(), 1u);
    EXPECT_EQ(packet.port_name(), "r1");
    EXPECT_EQ(packet.drop_reason(), direction == v1::CAPTURE_DIRECTION_DROPPED ? "no_flow" : "");
    EXPECT_FALSE(packet.on_way_out());
    EXPECT_EQ(packet.flow_id(), 0u);
    EXPECT_GT(packet.time().seconds(), 1'500'000'000);
  }
  EXPECT_EQ(call.response().missed_worker() + call.response().missed_queue(), 0u);
  EXPECT_EQ(call.Cancel().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(CaptureServiceTest, DirectionsFilterAndSnapLengthSelect) {
  v1::CaptureRequest in = OfPort("r1");
  in.add_directions(v1::CAPTURE_DIRECTION_IN);
  in.set_snap_length(20);
  *in.mutable_filter() = testing::MatchBuilder().On(v1::FIELD_ETH_SRC, 0x020000000002).match();
  v1::CaptureRequest dropped;
  dropped.mutable_port()->set_number(1);
  dropped.add_directions(v1::CAPTURE_DIRECTION_DROPPED);
  CaptureCall of_in(*captures_, in), of_dropped(*captures_, dropped);
  for (const char source : {1, 2, 3}) MustSend(Frame(100, source));
  const v1::CapturedPacket packet = of_in.Next();
  EXPECT_EQ(packet.data(), Frame(100, 2).substr(0, 20));
  EXPECT_EQ(packet.length(), 100u);
  for (const char source : {1, 2, 3}) {
    const v1::CapturedPacket drop = of_dropped.Next();
    EXPECT_EQ(drop.data(), Frame(100, source));
    EXPECT_EQ(drop.direction(), v1::CAPTURE_DIRECTION_DROPPED);
  }
  // What the filter leaves out does not come later: the next is the next that it lets through.
  MustSend(Frame(60, 2));
  EXPECT_EQ(of_in.Next().length(), 60u);
}

TEST_F(CaptureServiceTest, AFlowSeesEachMatchAndGoesOnWhenItIsModified) {
  const v1::Flow flow = MustCreate({});
  v1::CaptureRequest request;
  request.set_flow_id(flow.id());
  CaptureCall call(*captures_, request);
  MustSend(Frame(60));
  const auto expect = [&](size_t size) {
    const v1::CapturedPacket packet = call.Next();
    EXPECT_EQ(packet.data(), Frame(size));
    EXPECT_EQ(packet.direction(), v1::CAPTURE_DIRECTION_MATCHED);
    EXPECT_EQ(packet.flow_id(), flow.id());
    EXPECT_EQ(packet.port(), 1u);
  };
  expect(60);
  v1::UpdateFlowRequest update;
  *update.mutable_key() = KeyOf(flow.id());
  update.add_actions()->mutable_output()->set_port(9);
  v1::UpdateFlowResponse updated;
  ASSERT_TRUE(Call(*flows_, &v1::FlowService::Stub::UpdateFlow, update, &updated).ok());
  MustSend(Frame(70));
  expect(70);
}

TEST_F(CaptureServiceTest, WithItsPortACaptureEndsAfterAllThatItSaw) {
  MustCreatePort(Ring("r2", 2));
  CaptureCall call(*captures_, OfPort("r1")), other(*captures_, OfPort("r2"));
  const uint64_t before = test_server_.dataplane().Totals().received;
  MustSend(Frame());
  v1::DeletePortRequest request;
  request.mutable_key()->set_number(1);
  v1::DeletePortResponse response;
  // The packet is in again and dropped by then.
  while (test_server_.dataplane().Totals().received == before) std::this_thread::yield();
  ASSERT_TRUE(Call(*ports_, &v1::PortService::Stub::DeletePort, request, &response).ok());
  v1::CapturedPacket packet;
  std::vector<v1::CaptureDirection> seen;
  while (call.Next(&packet)) seen.push_back(packet.direction());
  EXPECT_THAT(seen, ElementsAre(v1::CAPTURE_DIRECTION_OUT, v1::CAPTURE_DIRECTION_IN, v1::CAPTURE_DIRECTION_DROPPED));
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "port 1 was deleted; its capture ends");
  WaitForCaptures(1);
  EXPECT_EQ(other.Cancel().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(CaptureServiceTest, WithItsFlowACaptureEnds) {
  const v1::Flow flow = MustCreate({});
  v1::CaptureRequest request;
  request.set_flow_id(flow.id());
  CaptureCall call(*captures_, request);
  MustSend(Frame());
  while (test_server_.dataplane().flows().Get(flow.id())->stats.packets == 0) std::this_thread::yield();
  v1::DeleteFlowRequest remove;
  *remove.mutable_key() = KeyOf(flow.id());
  v1::DeleteFlowResponse removed;
  ASSERT_TRUE(Call(*flows_, &v1::FlowService::Stub::DeleteFlow, remove, &removed).ok());
  EXPECT_EQ(call.Next().data(), Frame());
  v1::CapturedPacket packet;
  EXPECT_FALSE(call.Next(&packet));
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), absl::StrCat("flow ", flow.id(), " was removed; its capture ends"));
}

TEST_F(CaptureServiceTest, WhatIsNotThereIsRefused) {
  EXPECT_EQ(Refusal(OfPort("nobody")).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::CaptureRequest request;
  for (const uint32_t number : {0u, 9u}) {
    request.mutable_port()->set_number(number);
    const grpc::Status status = Refusal(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(status.error_message(), absl::StrCat("there is no port ", number));
  }
  for (const uint64_t flow : {uint64_t{0}, ~uint64_t{0}}) {
    request.set_flow_id(flow);
    EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::NOT_FOUND);
  }
}

TEST_F(CaptureServiceTest, WhatIsWrongIsNamed) {
  v1::CaptureRequest request = OfPort("r1");
  request.mutable_port()->clear_key();
  EXPECT_THAT(BadRequestOf(Refusal(request)).field_violations(0).field(), "port");
  request = OfPort("r1");
  request.add_directions(v1::CAPTURE_DIRECTION_IN);
  request.add_directions(v1::CAPTURE_DIRECTION_MATCHED);
  *request.mutable_filter() = testing::MatchBuilder().On(v1::FIELD_TCP_DST, 80).match();
  const google::rpc::BadRequest bad = BadRequestOf(Refusal(request));
  ASSERT_EQ(bad.field_violations_size(), 2);
  EXPECT_EQ(bad.field_violations(0).field(), "directions[1]");
  EXPECT_THAT(bad.field_violations(1).field(), HasSubstr("filter.fields[0]"));
  request.clear_filter();
  request.clear_directions();
  request.add_directions(v1::CAPTURE_DIRECTION_IN);
  request.set_flow_id(MustCreate({}).id());
  EXPECT_EQ(BadRequestOf(Refusal(request)).field_violations(0).field(), "directions");
}

TEST_F(CaptureServiceTest, SoManyAtATime) {
  const uint32_t limit = ApiLimits().captures;
  v1::GetCapabilitiesResponse capabilities;
  ASSERT_TRUE(Call(*switch_, &v1::SwitchService::Stub::GetCapabilities, {}, &capabilities).ok());
  EXPECT_EQ(capabilities.max_captures(), limit);
  std::vector<std::unique_ptr<CaptureCall>> calls;
  for (uint32_t i = 0; i < limit; ++i) {
    calls.push_back(std::make_unique<CaptureCall>(*captures_));
    EXPECT_TRUE(calls.back()->begun());
  }
  const grpc::Status status = Refusal({});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("limits.captures"));
  // All of them see the packet, and one that ends makes room.
  MustSend(Frame());
  for (const auto& call : calls) EXPECT_EQ(call->Next().data(), Frame());
  calls.pop_back();
  WaitForCaptures(limit - 1);
  EXPECT_TRUE(CaptureCall(*captures_).begun());
}

// One who does not read misses packets, is told so, and holds up nobody.
TEST_F(CaptureServiceTest, ASlowReaderMissesPacketsAndOthersDoNot) {
  v1::PortSpec jumbo = Ring("r2", 2);
  jumbo.set_mtu(9000);
  MustCreatePort(jumbo);
  to_port_.mutable_actions(0)->mutable_output()->set_port(2);
  v1::CaptureRequest out = OfPort("r2");
  out.add_directions(v1::CAPTURE_DIRECTION_OUT);
  v1::CaptureRequest headers = out;
  headers.set_snap_length(14);
  CaptureCall slow(*captures_, out), quick(*captures_, headers);
  constexpr uint64_t kPackets = 4000;
  const std::string frame = Frame(9000);
  uint64_t read = 0;
  std::thread reader([&] {
    v1::CapturedPacket packet;
    while (read + quick.response().missed_worker() + quick.response().missed_queue() < kPackets &&
           quick.Next(&packet)) {
      ++read;
      EXPECT_EQ(packet.length(), 9000u);
    }
  });
  for (uint64_t i = 0; i < kPackets; ++i) MustSend(frame);
  reader.join();
  EXPECT_EQ(quick.response().missed_queue(), 0u);
  EXPECT_EQ(read + quick.response().missed_worker(), kPackets);
  uint64_t late = 0;
  v1::CapturedPacket packet;
  while (late + slow.response().missed_worker() + slow.response().missed_queue() < kPackets && slow.Next(&packet))
    ++late;
  EXPECT_GT(slow.response().missed_queue(), 0u);
  EXPECT_GT(late, CaptureClient::kQueueBytes / 10'000);
  EXPECT_EQ(late + slow.response().missed_worker() + slow.response().missed_queue(), kPackets);
}

TEST_F(CaptureServiceTest, CancelledCallsLeaveNothingBehind) {
  for (int i = 0; i < 50; ++i) {
    CaptureCall call(*captures_);
    MustSend(Frame());
    EXPECT_EQ(call.Cancel().error_code(), grpc::StatusCode::CANCELLED);
  }
  // Also those that are cancelled before they begin.
  for (int i = 0; i < 50; ++i) {
    grpc::ClientContext context;
    const auto reader = captures_->Capture(&context, {});
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  WaitForCaptures(0);
}

// The API by itself: its end ends the captures.
TEST_F(CaptureServiceTest, TheSwitchsEndEndsThem) {
  CaptureApi api(test_server_.dataplane(), test_server_.dataplane().flows(), {});
  std::atomic<int> ready{0};
  const auto client = api.Start({}, [&] { ++ready; });
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_FALSE((*client)->ended().has_value());
  api.Close();
  EXPECT_GT(ready, 0);
  EXPECT_EQ((*client)->ended(), absl::UnavailableError("the switch is ending"));
  api.Leave(*client);
  EXPECT_EQ(api.Start({}, [] {}).status(), absl::UnavailableError("the switch is ending"));
}

}  // namespace
}  // namespace sluice
