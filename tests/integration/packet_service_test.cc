// PacketService and MacService over gRPC. A ring port receives what it sends, so
// that a packet sent there comes in again.

#include <gmock/gmock.h>

#include <thread>

#include "tests/integration/api_fixture.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using Macs = v1::MacService::Stub;
using Packets = v1::PacketService::Stub;

// A call of WatchPackets, which ends with it.
class Watch {
 public:
  explicit Watch(Packets& stub, const v1::WatchPacketsRequest& request = {}) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    reader_ = stub.WatchPackets(&context_, request);
    // The switch listens by then, or has refused.
    reader_->WaitForInitialMetadata();
  }
  ~Watch() {
    if (reader_ != nullptr) Cancel();
  }

  // The next packet.
  v1::Packet Next() {
    while (at_ == response_.packets_size()) {
      at_ = 0;
      if (!reader_->Read(&response_)) {
        ADD_FAILURE() << "the call has ended";
        return {};
      }
    }
    return response_.packets(at_++);
  }
  const v1::WatchPacketsResponse& response() const { return response_; }
  grpc::Status Finish() { return std::exchange(reader_, nullptr)->Finish(); }
  grpc::Status Cancel() {
    context_.TryCancel();
    return Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchPacketsResponse>> reader_;
  v1::WatchPacketsResponse response_;
  int at_ = 0;
};

class PacketServiceTest : public ApiTest {
 protected:
  PacketServiceTest() {
    MustCreatePort(Ring("r1", 1));
    v1::FlowSpec spec;
    spec.set_cookie(0xc0);
    spec.add_actions()->mutable_controller();
    flow_ = MustCreate(spec);
    to_port_.add_actions()->mutable_output()->set_port(1);
  }
  ~PacketServiceTest() override {
    v1::UpdateTableRequest request;
    request.set_miss_policy(v1::MISS_POLICY_DROP);
    v1::UpdateTableResponse response;
    EXPECT_TRUE(Call(*tables_, &v1::TableService::Stub::UpdateTable, request, &response).ok());
  }

  grpc::Status Send(v1::SendPacketRequest request, v1::SendPacketResponse* response) {
    return Call(*packets_, &Packets::SendPacket, request, response);
  }
  // Into the ring, and so to the flow.
  void MustSend(const std::string& frame) {
    to_port_.set_data(frame);
    v1::SendPacketResponse response;
    const grpc::Status status = Send(to_port_, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.forwarded()) << response.drop_reason();
  }

  uint64_t Refused() { return test_server_.packets().counters().refused; }

  v1::Flow flow_;
  v1::SendPacketRequest to_port_;
};

TEST_F(PacketServiceTest, APacketComesWithAllThatIsKnownOfIt) {
  Watch watch(*packets_);
  MustSend(Frame(100));
  const v1::Packet packet = watch.Next();
  EXPECT_EQ(packet.data(), Frame(100));
  EXPECT_EQ(packet.length(), 100u);
  EXPECT_EQ(packet.in_port(), 1u);
  EXPECT_EQ(packet.in_port_name(), "r1");
  EXPECT_EQ(packet.reason(), v1::PACKET_REASON_ACTION);
  EXPECT_EQ(packet.flow_id(), flow_.id());
  EXPECT_EQ(packet.cookie(), 0xc0u);
  EXPECT_EQ(packet.registers_size(), 0);
  EXPECT_GT(packet.time().seconds(), 1'500'000'000);
}

TEST_F(PacketServiceTest, TwoCallersGetEachWhatItAskedFor) {
  v1::WatchPacketsRequest cut;
  cut.set_max_len(20);
  v1::WatchPacketsRequest other;
  other.add_reasons(v1::PACKET_REASON_NO_MATCH);
  Watch all(*packets_), short_ones(*packets_, cut), misses(*packets_, other);
  MustSend(Frame());
  EXPECT_EQ(all.Next().data(), Frame());
  EXPECT_EQ(short_ones.Next().data(), Frame().substr(0, 20));
  v1::UpdateTableRequest request;
  request.set_miss_policy(v1::MISS_POLICY_CONTROLLER);
  v1::UpdateTableResponse updated;
  ASSERT_TRUE(Call(*tables_, &v1::TableService::Stub::UpdateTable, request, &updated).ok());
  EXPECT_EQ(updated.table().miss_policy(), v1::MISS_POLICY_CONTROLLER);
  v1::DeleteMatchingFlowsResponse deleted;
  ASSERT_TRUE(Call(*flows_, &v1::FlowService::Stub::DeleteMatchingFlows, {}, &deleted).ok());
  MustSend(Frame(70));
  const v1::Packet miss = misses.Next();
  EXPECT_EQ(miss.data(), Frame(70));
  EXPECT_EQ(miss.reason(), v1::PACKET_REASON_NO_MATCH);
  EXPECT_EQ(miss.flow_id(), 0u);
}

TEST_F(PacketServiceTest, AFlowsReasonIsToldAndAskedFor) {
  v1::FlowSpec expired;
  expired.set_priority(9);
  *expired.mutable_match() = testing::MatchBuilder().On(v1::FIELD_ETH_SRC, 0x020000000002).match();
  expired.add_actions()->mutable_controller()->set_reason(v1::PACKET_REASON_INVALID_TTL);
  MustCreate(expired);
  v1::WatchPacketsRequest request;
  request.add_reasons(v1::PACKET_REASON_INVALID_TTL);
  Watch watch(*packets_, request);
  MustSend(Frame(60, 1));
  MustSend(Frame(60, 2));
  const v1::Packet packet = watch.Next();
  EXPECT_EQ(packet.data(), Frame(60, 2));
  EXPECT_EQ(packet.reason(), v1::PACKET_REASON_INVALID_TTL);
}

// The flow's cookie is 0xc0.
TEST_F(PacketServiceTest, ACallerGetsOnlyTheCookieThatItAsksFor) {
  v1::WatchPacketsRequest request;
  request.set_cookie(0xc1);
  request.set_cookie_mask(0xf0);
  Watch some_bits(*packets_, request);
  request.set_cookie_mask(~uint64_t{0});
  Watch all_bits(*packets_, request);
  v1::FlowSpec other;
  other.set_cookie(0xc1);
  other.set_priority(9);
  *other.mutable_match() = testing::MatchBuilder().On(v1::FIELD_ETH_SRC, 0x020000000002).match();
  other.add_actions()->mutable_controller();
  MustCreate(other);
  MustSend(Frame(60, 1));
  MustSend(Frame(60, 2));
  EXPECT_EQ(some_bits.Next().cookie(), 0xc0u);
  EXPECT_EQ(some_bits.Next().cookie(), 0xc1u);
  // Its first, though the other came before.
  const v1::Packet packet = all_bits.Next();
  EXPECT_EQ(packet.cookie(), 0xc1u);
  EXPECT_EQ(packet.data(), Frame(60, 2));
}

TEST_F(PacketServiceTest, ACallerHasItsRateAndLearnsWhatItMissed) {
  v1::WatchPacketsRequest slow;
  slow.set_packets_per_second(2);
  Watch few(*packets_, slow), all(*packets_);
  for (int i = 0; i < 20; ++i) MustSend(Frame(60, static_cast<char>(i)));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(all.Next().data(), Frame(60, static_cast<char>(i)));
  few.Next();
  few.Next();
  // A second later there is room again.
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  MustSend(Frame(61));
  v1::Packet last = few.Next();
  while (last.length() == 60) last = few.Next();
  EXPECT_GE(few.response().dropped_rate(), 15u);
  EXPECT_EQ(few.response().dropped_queue(), 0u);
}

// One that does not read fills what is between, then its queue, and holds up nobody.
TEST_F(PacketServiceTest, ACallerThatDoesNotReadLosesOnlyItsOwn) {
  v1::PortSpec jumbo = Ring("r2", 2);
  jumbo.set_mtu(9000);
  MustCreatePort(jumbo);
  v1::WatchPacketsRequest small;
  small.set_queue(5);
  Watch idle(*packets_, small), reader(*packets_);
  to_port_.mutable_actions(0)->mutable_output()->set_port(2);
  const int kPackets = 700;
  for (int i = 0; i < kPackets; ++i) {
    MustSend(Frame(9000));
    EXPECT_EQ(reader.Next().length(), 9000u);
  }
  uint64_t got = 0;
  MustSend(Frame(100));
  for (v1::Packet packet = idle.Next(); packet.length() != 100; packet = idle.Next()) {
    if (++got % 20 == 0) MustSend(Frame(100));
    ASSERT_LT(got, static_cast<uint64_t>(kPackets));
  }
  EXPECT_GT(idle.response().dropped_queue() + got, 0u);
  EXPECT_EQ(reader.response().dropped_queue(), 0u);
}

TEST_F(PacketServiceTest, NobodyListensAnyMoreAfterACancel) {
  const auto dropped = [this] {
    return test_server_.dataplane().Totals().drops[static_cast<int>(DropReason::kNoController)];
  };
  {
    Watch watch(*packets_);
    MustSend(Frame());
    watch.Next();
    EXPECT_EQ(watch.Cancel().error_code(), grpc::StatusCode::CANCELLED);
  }
  const uint64_t before = dropped();
  for (int i = 0; i < 500 && dropped() == before; ++i) {
    MustSend(Frame());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(dropped(), before);
}

TEST_F(PacketServiceTest, NoMoreCallersThanMayBe) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (uint32_t i = 0; i < ApiLimits{}.packet_in_clients; ++i) watches.push_back(std::make_unique<Watch>(*packets_));
  Watch one_more(*packets_);
  const grpc::Status status = one_more.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("limits.packet_in_clients"));
}

TEST_F(PacketServiceTest, WrongFiltersAreRefusedByName) {
  v1::WatchPacketsRequest wrong;
  wrong.add_reasons(static_cast<v1::PacketReason>(9));
  wrong.add_table_ids(255);
  wrong.add_in_ports(65280);
  Watch watch(*packets_, wrong);
  const grpc::Status status = watch.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(status).field_violations_size(), 3);
}

TEST_F(PacketServiceTest, SaysWhatBecameOfAPacketThatIsSent) {
  v1::SendPacketRequest request;
  request.set_data(Frame());
  v1::SendPacketResponse response;
  ASSERT_TRUE(Send(request, &response).ok());
  EXPECT_FALSE(response.forwarded());
  EXPECT_EQ(response.drop_reason(), "action_drop");
  request.add_actions()->mutable_output()->set_port(9);
  ASSERT_TRUE(Send(request, &response).ok());
  EXPECT_EQ(response.drop_reason(), "no_such_port");
  request.clear_actions();
  request.set_through_tables(true);
  request.set_in_port(1);
  Watch watch(*packets_);
  ASSERT_TRUE(Send(request, &response).ok());
  EXPECT_TRUE(response.forwarded());
  EXPECT_EQ(watch.Next().in_port(), 1u);
}

TEST_F(PacketServiceTest, PacketsThatCannotBeSentAreRefused) {
  const auto code = [this](const v1::SendPacketRequest& request, const char* text) {
    v1::SendPacketResponse response;
    const grpc::Status status = Send(request, &response);
    EXPECT_THAT(status.error_message(), HasSubstr(text));
    return status.error_code();
  };
  v1::SendPacketRequest request;
  request.add_actions()->mutable_output()->set_port(1);
  for (const size_t size : {0, 13, 65'536}) {
    request.set_data(std::string(size, 'x'));
    EXPECT_EQ(code(request, "are no frame: 14 to 65535"), grpc::StatusCode::INVALID_ARGUMENT);
  }
  request.set_data(Frame(1515));
  EXPECT_EQ(code(request, "at most 1514 with its MTU of 1500"), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_data(Frame(1514));
  request.set_in_port(7);
  EXPECT_EQ(code(request, "no port 7"), grpc::StatusCode::NOT_FOUND);
  request.set_in_port(65280);
  EXPECT_EQ(code(request, "65280"), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_in_port(0);
  request.add_actions()->mutable_goto_table()->set_table_id(0);
  request.set_through_tables(true);
  EXPECT_EQ(code(request, "go to a table already"), grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_actions();
  request.add_actions()->mutable_output()->set_port(0);
  EXPECT_EQ(code(request, "actions[0].output.port"), grpc::StatusCode::INVALID_ARGUMENT);
}

// A call of SendPackets, which ends with it.
class Sender {
 public:
  explicit Sender(Packets& stub) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    call_ = stub.SendPackets(&context_);
  }
  ~Sender() {
    if (call_ == nullptr) return;
    context_.TryCancel();
    call_->Finish();
  }

  bool Write(const v1::SendPacketRequest& packet) {
    v1::SendPacketsRequest request;
    *request.mutable_packet() = packet;
    return call_->Write(request);
  }
  bool Read(v1::SendPacketsResponse& response) { return call_->Read(&response); }
  grpc::Status Finish() {
    call_->WritesDone();
    return std::exchange(call_, nullptr)->Finish();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SendPacketsRequest, v1::SendPacketsResponse>> call_;
};

TEST_F(PacketServiceTest, AStreamIsAnsweredInOrderAndGoesOnBehindARefusal) {
  Watch watch(*packets_);
  Sender sender(*packets_);
  v1::SendPacketRequest wrong = to_port_, nowhere;
  wrong.set_data("short");
  nowhere.set_data(Frame());
  for (char i = 1; i <= 3; ++i) {
    to_port_.set_data(Frame(60, i));
    ASSERT_TRUE(sender.Write(to_port_));
    ASSERT_TRUE(sender.Write(i == 2 ? wrong : nowhere));
  }
  v1::SendPacketsResponse response;
  for (char i = 1; i <= 3; ++i) {
    ASSERT_TRUE(sender.Read(response));
    EXPECT_TRUE(response.result().forwarded());
    ASSERT_TRUE(sender.Read(response));
    if (i == 2) {
      EXPECT_EQ(response.error().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
      EXPECT_THAT(response.error().message(), HasSubstr("5 bytes are no frame"));
    } else {
      EXPECT_EQ(response.result().drop_reason(), "action_drop");
    }
  }
  EXPECT_TRUE(sender.Finish().ok());
  for (char i = 1; i <= 3; ++i) EXPECT_EQ(watch.Next().data(), Frame(60, i));
}

// The rate lets 10,000 through at once, and as many a second.
TEST_F(PacketServiceTest, AStreamIsHeldBackByTheRateAndNotRefused) {
  constexpr int kPackets = 12'000;
  const uint64_t refused = Refused();
  Sender sender(*packets_);
  std::thread writer([&] {
    v1::SendPacketRequest packet;
    packet.set_data(Frame());
    for (int i = 0; i < kPackets; ++i) EXPECT_TRUE(sender.Write(packet));
  });
  v1::SendPacketsResponse response;
  for (int i = 0; i < kPackets; ++i) {
    ASSERT_TRUE(sender.Read(response));
    ASSERT_TRUE(response.has_result()) << response.error().message();
  }
  writer.join();
  EXPECT_TRUE(sender.Finish().ok());
  EXPECT_EQ(Refused(), refused);
  absl::SleepFor(absl::Milliseconds(100));  // what comes next has some of the rate again
}

// What lies between them is bounded by flow control, here a window of 64 KiB of answers
// (of some hundred bytes each, since the packets are too long) and some of packets.
TEST_F(PacketServiceTest, WhoDoesNotReadAnswersIsNotReadFromAndHoldsUpNobody) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto stub = v1::PacketService::NewStub(
      grpc::CreateCustomChannel("unix://" + test_server_.socket(), grpc::InsecureChannelCredentials(), arguments));
  Sender deaf(*stub);
  std::atomic<int> written{0};
  std::atomic<bool> over{false};
  std::thread writer([&] {
    v1::SendPacketRequest packet;
    packet.set_data(std::string(70'000, 'x'));
    while (deaf.Write(packet)) ++written;
    over = true;
  });
  int before = -1;
  while (!over && (written != before || written == 0)) {
    before = written;
    absl::SleepFor(absl::Seconds(1));
  }
  MustSend(Frame());
  EXPECT_FALSE(over) << "it waits to write, and the call is open";
  EXPECT_EQ(written, before);
  v1::SendPacketsResponse response;
  for (int i = 0; i < before; ++i) ASSERT_TRUE(deaf.Read(response));
  EXPECT_GT(written, before) << "it goes on as soon as its answers are read";
  deaf.Cancel();
  writer.join();
}

TEST_F(PacketServiceTest, WhatWasSentIsCountedApart) {
  const PacketTotals before = test_server_.dataplane().Totals();
  v1::SendPacketRequest request;
  request.set_data(Frame());
  v1::SendPacketResponse response;
  ASSERT_TRUE(Send(request, &response).ok());
  const PacketTotals after = test_server_.dataplane().Totals();
  EXPECT_EQ(after.injected, before.injected + 1);
  EXPECT_EQ(after.received, before.received);
}

TEST_F(PacketServiceTest, StationsAreListedInPagesAndFlushed) {
  v1::SendPacketRequest request;
  request.set_in_port(1);
  request.add_actions()->mutable_output()->set_reserved(v1::RESERVED_PORT_NORMAL);
  for (char i = 1; i <= 5; ++i) {
    request.set_data(Frame(60, i));
    v1::SendPacketResponse response;
    ASSERT_TRUE(Send(request, &response).ok());
  }
  v1::ListMacsRequest list;
  list.set_page_size(2);
  std::vector<uint64_t> macs;
  v1::ListMacsResponse page;
  do {
    ASSERT_TRUE(Call(*macs_, &Macs::ListMacs, list, &page).ok());
    for (const v1::Mac& mac : page.macs()) {
      macs.push_back(mac.mac());
      EXPECT_EQ(mac.port(), 1u);
    }
    list.set_page_token(page.next_page_token());
  } while (!list.page_token().empty());
  EXPECT_THAT(macs,
              ::testing::ElementsAre(0x020000000001, 0x020000000002, 0x020000000003, 0x020000000004, 0x020000000005));
  EXPECT_EQ(page.table().entries(), 5u);
  EXPECT_EQ(page.table().max_entries(), 8192u);
  v1::FlushMacsRequest flush;
  flush.mutable_filter()->set_mac(0x020000000003);
  v1::FlushMacsResponse flushed;
  ASSERT_TRUE(Call(*macs_, &Macs::FlushMacs, flush, &flushed).ok());
  EXPECT_EQ(flushed.flushed(), 1u);
  ASSERT_TRUE(Call(*macs_, &Macs::FlushMacs, {}, &flushed).ok());
  EXPECT_EQ(flushed.flushed(), 4u);
}

TEST_F(PacketServiceTest, WrongFiltersOfStationsAreRefusedByName) {
  v1::ListMacsRequest list;
  list.mutable_filter()->set_port(0);
  list.mutable_filter()->set_vlan_id(4096);
  list.mutable_filter()->set_mac(uint64_t{1} << 48);
  list.set_page_size(10'001);
  list.set_page_token("nonsense");
  v1::ListMacsResponse response;
  const grpc::Status status = Call(*macs_, &Macs::ListMacs, list, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(status).field_violations_size(), 5);
}

}  // namespace
}  // namespace sluice
