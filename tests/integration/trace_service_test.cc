// TraceService through gRPC: what it tells, packets composed of fields, and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/compose.h"
#include "client/flow_text.h"
#include "sluice/v1/trace_service.grpc.pb.h"
#include "tests/integration/api_fixture.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

class TraceServiceTest : public ApiTest {
 protected:
  TraceServiceTest() {
    MustCreatePort(Ring("one", 1));
    MustCreatePort(Ring("two", 2));
  }

  grpc::Status Trace(uint32_t in_port, const std::string& frame, v1::TracePacketResponse* response) {
    v1::TracePacketRequest request;
    request.set_in_port(in_port);
    request.set_frame(frame);
    return Call(*traces_, &v1::TraceService::Stub::TracePacket, request, response);
  }

  std::unique_ptr<v1::TraceService::Stub> traces_ = v1::TraceService::NewStub(test_server_.channel());
};

v1::Match MatchOf(const std::string& text) {
  client::TextOptions options;
  options.use = client::TextUse::kSelect;
  const absl::StatusOr<client::FlowText> flow = client::ParseFlow(text, options);
  EXPECT_TRUE(flow.ok()) << flow.status();
  return flow.ok() ? flow->spec.match() : v1::Match();
}

TEST_F(TraceServiceTest, TellsTheFlowAndWhatItDoes) {
  const v1::Flow flow = MustCreate(UdpFlow(10, 53));
  const v1::Flow beaten = MustCreate(v1::FlowSpec());
  v1::TracePacketResponse response;
  const std::string frame = client::ComposeFrame(MatchOf("udp,tp_dst=53"));
  ASSERT_TRUE(Trace(1, frame, &response).ok());
  ASSERT_EQ(response.tables_size(), 1);
  const v1::TracedTable& table = response.tables(0);
  EXPECT_EQ(table.flow().id(), flow.id());
  ASSERT_EQ(table.beaten_size(), 1);
  EXPECT_EQ(table.beaten(0).id(), beaten.id());
  EXPECT_EQ(table.masks_size(), 1);
  EXPECT_EQ(table.miss_policy(), v1::MISS_POLICY_DROP);
  ASSERT_EQ(table.actions_size(), 1);
  EXPECT_TRUE(table.actions(0).carried_out());
  EXPECT_EQ(table.actions(0).frame(), frame);
  ASSERT_EQ(table.actions(0).outputs_size(), 1);
  EXPECT_EQ(table.actions(0).outputs(0).port(), 2u);
  EXPECT_EQ(table.actions(0).outputs(0).fate(), v1::OUTPUT_FATE_SENT);
  EXPECT_EQ(table.actions(0).outputs(0).frame(), frame);
  EXPECT_TRUE(response.forwarded());
  EXPECT_EQ(response.drop_reason(), "");
  ASSERT_TRUE(Trace(1, client::ComposeFrame(MatchOf("arp")), &response).ok());
  EXPECT_EQ(response.tables(0).flow().id(), beaten.id());
  EXPECT_FALSE(response.forwarded());
  EXPECT_EQ(response.drop_reason(), "action_drop");
}

// What is composed of fields, the switch reads as these fields.
TEST_F(TraceServiceTest, ReadsWhatTheClientComposes) {
  for (const std::string text :
       {"dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,dl_type=0x88b5",
        "ip,nw_src=192.0.2.1,nw_dst=192.0.2.2,nw_tos=184,nw_ecn=2,nw_ttl=7,nw_proto=99",
        "tcp,nw_src=192.0.2.1,tp_src=1024,tp_dst=80,tcp_flags=syn|ack",
        "udp,tp_src=1,tp_dst=2",
        "sctp,tp_src=1,tp_dst=2",
        "icmp,icmp_type=8,icmp_code=3",
        "tcp6,ipv6_src=2001:db8::1,ipv6_dst=2001:db8::2,ipv6_label=0x12345,tp_dst=443",
        "udp6,tp_dst=53",
        "sctp6,tp_dst=9",
        "icmp6,icmp_type=128,icmp_code=1",
        "icmp6,icmp_type=135,icmp_code=0,nd_target=2001:db8::9,nd_sll=02:00:00:00:00:03",
        "icmp6,icmp_type=136,icmp_code=0,nd_target=2001:db8::9,nd_tll=02:00:00:00:00:03",
        "arp,arp_op=2,arp_spa=192.0.2.1,arp_tpa=192.0.2.2,arp_sha=02:00:00:00:00:01,arp_tha=02:00:00:00:00:02",
        "dl_vlan=7,dl_vlan_pcp=5,ip",
        "dl_vlan=7,inner_vlan_vid=9,inner_vlan_pcp=1,ip",
        "mpls,mpls_label=77,mpls_tc=3,mpls_bos=0",
        "udp,nw_frag=first,tp_dst=53",
        "ip,nw_frag=later,nw_proto=17",
        "udp6,nw_frag=first,tp_dst=53",
        "ipv6,nw_frag=later,nw_proto=44"}) {
    const v1::Match match = MatchOf(text);
    v1::TracePacketResponse response;
    ASSERT_TRUE(Trace(1, client::ComposeFrame(match), &response).ok()) << text;
    ASSERT_EQ(response.tables_size(), 1) << text;
    const v1::Match& packet = response.tables(0).packet();
    for (const v1::FieldMatch& field : match.fields()) {
      EXPECT_THAT(packet.fields(), ::testing::Contains(::testing::Property(&v1::FieldMatch::SerializeAsString,
                                                                           field.SerializeAsString())))
          << text << " is read as " << client::FormatMatch(packet);
    }
  }
}

TEST_F(TraceServiceTest, RefusesWhatIsNoPacketOfAPort) {
  v1::TracePacketResponse response;
  grpc::Status status = Trace(1, "", &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("the frame has 0 bytes: 1 to 65535"));
  EXPECT_EQ(Trace(1, std::string(65536, 'x'), &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  status = Trace(77, std::string(60, 'x'), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("there is no port 77"));
  ASSERT_TRUE(Trace(1, "short", &response).ok());
  EXPECT_EQ(response.drop_reason(), "malformed");
  EXPECT_EQ(response.tables_size(), 0);
}

}  // namespace
}  // namespace sluice
