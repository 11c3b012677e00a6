// SwitchService, health, reflection, metrics, and the socket itself.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/metrics.h"
#include "tests/integration/api_fixture.h"
#include "tests/integration/http.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Flows = v1::FlowService::Stub;
using Switch = v1::SwitchService::Stub;
using testing::kIpv4;
using testing::MatchBuilder;

class SwitchServiceTest : public ApiTest {
 protected:
  v1::GetCapabilitiesResponse Capabilities() {
    v1::GetCapabilitiesResponse response;
    EXPECT_TRUE(Call(*switch_, &Switch::GetCapabilities, {}, &response).ok());
    return response;
  }
  grpc::Status Create(const v1::FlowSpec& spec) {
    v1::CreateFlowRequest request;
    *request.mutable_flow() = spec;
    request.set_allow_existing(true);
    v1::CreateFlowResponse response;
    return Call(*flows_, &Flows::CreateFlow, request, &response);
  }
};

TEST_F(SwitchServiceTest, GetSwitchSaysWhatRuns) {
  v1::GetSwitchResponse response;
  ASSERT_TRUE(Call(*switch_, &Switch::GetSwitch, {}, &response).ok());
  EXPECT_EQ(response.version(), "0.1.0");
  EXPECT_EQ(response.boot_id(), test_server_.identity().boot_id);
  EXPECT_EQ(response.boot_id().size(), 32u);
  EXPECT_THAT(response.dpdk_version(), HasSubstr("DPDK"));
  EXPECT_FALSE(response.huge_pages());
  EXPECT_GT(response.tsc_hz(), 100'000'000u);
  EXPECT_GT(response.start_time().seconds(), 1'600'000'000);
  ASSERT_EQ(response.workers_size(), 1);
  EXPECT_EQ(response.workers(0).id(), 0u);
  EXPECT_EQ(response.totals().drops_size(), kDropReasonCount);
}

TEST_F(SwitchServiceTest, CapabilitiesNameTheLimitsOfWatchesAndTimeouts) {
  const v1::GetCapabilitiesResponse capabilities = Capabilities();
  EXPECT_EQ(capabilities.max_watch_events(), test_server_.dataplane().flows().limits().kept_events);
  EXPECT_GT(capabilities.max_watchers(), 0u);
  EXPECT_EQ(capabilities.max_timeout().seconds(), 65535);
  v1::FlowSpec longest;
  longest.mutable_idle_timeout()->set_seconds(capabilities.max_timeout().seconds());
  EXPECT_TRUE(Create(longest).ok());
  longest.mutable_idle_timeout()->set_seconds(capabilities.max_timeout().seconds() + 1);
  EXPECT_EQ(Create(longest).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// A match on the field, with what it needs.
v1::Match MatchOnField(const v1::FieldCapability& field) {
  MatchBuilder builder;
  switch (field.description().prerequisite()) {
    case v1::PREREQUISITE_ARP:
      builder.EthType(testing::kArp);
      break;
    case v1::PREREQUISITE_IPV4:
    case v1::PREREQUISITE_IP:
      builder.EthType(kIpv4);
      break;
    case v1::PREREQUISITE_IPV6:
      builder.EthType(testing::kIpv6);
      break;
    case v1::PREREQUISITE_TCP:
      builder.Ip(kIpv4, 6);
      break;
    case v1::PREREQUISITE_UDP:
      builder.Ip(kIpv4, 17);
      break;
    case v1::PREREQUISITE_SCTP:
      builder.Ip(kIpv4, 132);
      break;
    case v1::PREREQUISITE_ICMPV4:
      builder.Ip(kIpv4, 1);
      break;
    case v1::PREREQUISITE_ICMPV6:
      builder.Ip(testing::kIpv6, 58);
      break;
    case v1::PREREQUISITE_INNER_VLAN:
      builder.On(v1::FIELD_VLAN_PRESENT, 1).On(v1::FIELD_INNER_VLAN_PRESENT, 1);
      break;
    case v1::PREREQUISITE_MPLS:
      builder.EthType(0x8847);
      break;
    case v1::PREREQUISITE_ND:
    case v1::PREREQUISITE_ND_SOLICIT:
      builder.Ip(testing::kIpv6, 58).On(v1::FIELD_ICMPV6_TYPE, 135);
      break;
    case v1::PREREQUISITE_ND_ADVERT:
      builder.Ip(testing::kIpv6, 58).On(v1::FIELD_ICMPV6_TYPE, 136);
      break;
    default:
      break;
  }
  if (field.description().bits() > 64) return builder.Wide(field.field(), std::string(16, 'a')).match();
  return builder.On(field.field(), field.field() == v1::FIELD_ETH_TYPE ? kIpv4 : 1).match();
}

TEST_F(SwitchServiceTest, FieldsThatAreListedAreTakenAndOthersAreNot) {
  const v1::GetCapabilitiesResponse capabilities = Capabilities();
  std::set<int> listed;
  for (const v1::FieldCapability& field : capabilities.fields()) {
    listed.insert(field.field());
    v1::FlowSpec spec;
    *spec.mutable_match() = MatchOnField(field);
    if (field.field() == v1::FIELD_VLAN_TCI || field.field() == v1::FIELD_INNER_VLAN_TCI) {
      spec.mutable_match()->mutable_fields(0)->set_value(0x1001);
    }
    const grpc::Status status = Create(spec);
    EXPECT_TRUE(status.ok()) << field.description().name() << ": " << status.error_message();

    v1::FlowSpec writes = spec;
    v1::SetFieldAction* set = writes.add_actions()->mutable_set_field();
    set->set_field(field.field());
    if (field.description().bits() > 64) {
      set->set_wide_value(std::string(16, 'b'));
    } else {
      set->set_value(1);
    }
    EXPECT_EQ(Create(writes).ok(), field.description().writable()) << field.description().name();
    EXPECT_NE(field.description().maskability(), v1::MASKABILITY_UNSPECIFIED);
    EXPECT_NE(field.description().format(), v1::FORMAT_UNSPECIFIED);
  }
  EXPECT_EQ(listed.size(), static_cast<size_t>(v1::Field_MAX));
  for (int number = -1; number < 200; ++number) {
    if (listed.count(number) > 0) continue;
    v1::FlowSpec spec;
    spec.mutable_match()->add_fields()->set_field(static_cast<v1::Field>(number));
    EXPECT_EQ(Create(spec).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << number;
  }
}

TEST_F(SwitchServiceTest, ActionsThatAreListedAreTaken) {
  const v1::GetCapabilitiesResponse capabilities = Capabilities();
  EXPECT_EQ(capabilities.actions_size(), 16);
  for (const std::string& name : capabilities.actions()) {
    v1::FlowSpec spec;
    v1::Action* action = spec.add_actions();
    const auto* field = v1::Action::descriptor()->FindFieldByName(name);
    ASSERT_NE(field, nullptr) << name;
    action->GetReflection()->MutableMessage(action, field);
    if (name == "group") action->mutable_group()->set_group_id(1);
    if (name == "meter") action->mutable_meter()->set_meter_id(1);
    if (name == "output") action->mutable_output()->set_port(1);
    if (name == "set_field") action->mutable_set_field()->set_field(v1::FIELD_ETH_DST);
    if (name == "push_vlan") action->mutable_push_vlan()->set_tpid(0x8100);
    if (name == "push_mpls") action->mutable_push_mpls()->set_eth_type(0x8847);
    if (name == "pop_mpls") {
      *spec.mutable_match() = MatchBuilder().EthType(0x8847).match();
      action->mutable_pop_mpls()->set_eth_type(0x0800);
    }
    if (name == "goto_table") action->mutable_goto_table()->set_table_id(1);
    if (name == "output_field") action->mutable_output_field()->set_field(v1::FIELD_ETH_TYPE);
    if (name == "move_field") {
      action->mutable_move_field()->set_source(v1::FIELD_ETH_SRC);
      action->mutable_move_field()->set_destination(v1::FIELD_ETH_DST);
    }
    EXPECT_TRUE(Create(spec).ok()) << name;
  }
}

TEST_F(SwitchServiceTest, LimitsThatAreListedAreThoseThatHold) {
  const v1::GetCapabilitiesResponse capabilities = Capabilities();
  EXPECT_EQ(capabilities.max_flows(), 1'000'000u);
  EXPECT_EQ(capabilities.max_masks_per_table(), 4096u);
  EXPECT_EQ(capabilities.max_ports(), Dataplane::kMaxPorts);

  v1::FlowSpec spec;
  spec.set_table_id(capabilities.max_table_id());
  for (uint32_t i = 0; i < capabilities.max_actions_per_flow(); ++i) *spec.add_actions() = testing::Output(1);
  EXPECT_TRUE(Create(spec).ok());
  *spec.add_actions() = testing::Output(1);
  EXPECT_EQ(Create(spec).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  spec.clear_actions();
  spec.set_table_id(capabilities.max_table_id() + 1);
  EXPECT_EQ(Create(spec).error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  v1::BatchWriteRequest batch;
  batch.set_validate_only(true);
  for (uint32_t i = 0; i < capabilities.max_batch_items(); ++i) batch.add_items();
  v1::BatchWriteResponse response;
  EXPECT_TRUE(Call(*flows_, &Flows::BatchWrite, batch, &response).ok());
  batch.add_items();
  EXPECT_EQ(Call(*flows_, &Flows::BatchWrite, batch, &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  for (uint32_t i = 1; i <= capabilities.max_ports(); ++i) MustCreatePort(Ring(absl::StrCat("r", i)));
  v1::CreatePortRequest request;
  *request.mutable_port() = Ring("more");
  v1::CreatePortResponse created;
  EXPECT_EQ(Call(*ports_, &v1::PortService::Stub::CreatePort, request, &created).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// grpc.health.v1, as bytes: request {1: service}, response {1: status}, where 1 is SERVING and 2 NOT_SERVING.
grpc::Status Health(const std::string& service, std::string* response) {
  const std::string request =
      service.empty() ? ""
                      : absl::StrCat(std::string("\x0a"), std::string(1, static_cast<char>(service.size())), service);
  response->clear();
  return RawCall(TestServer::Get().channel(), "/grpc.health.v1.Health/Check", request, response);
}

TEST_F(SwitchServiceTest, HealthKnowsEveryService) {
  ApiServer& server = test_server_.server();
  const std::string services[] = {"",
                                  "sluice.v1.FlowService",
                                  "sluice.v1.PortService",
                                  "sluice.v1.TableService",
                                  "sluice.v1.TraceService",
                                  "sluice.v1.SwitchService",
                                  "sluice.v1.MacService",
                                  "sluice.v1.PacketService"};
  for (const bool serving : {true, false, true}) {
    server.SetServing(serving);
    for (const std::string& service : services) {
      std::string response;
      ASSERT_TRUE(Health(service, &response).ok()) << service;
      EXPECT_EQ(response, serving ? "\x08\x01" : "\x08\x02") << service;
    }
  }
  std::string response;
  EXPECT_EQ(Health("no.such.Service", &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(SwitchServiceTest, ReflectionListsTheServices) {
  std::string response;
  // ServerReflectionRequest {7: list_services}
  ASSERT_TRUE(RawCall(test_server_.channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                      "\x3a\x01*", &response)
                  .ok());
  EXPECT_THAT(response, AllOf(HasSubstr("sluice.v1.FlowService"), HasSubstr("sluice.v1.PortService"),
                              HasSubstr("sluice.v1.TableService"), HasSubstr("sluice.v1.TraceService"),
                              HasSubstr("sluice.v1.SwitchService"), HasSubstr("sluice.v1.MacService"),
                              HasSubstr("sluice.v1.PacketService"), HasSubstr("sluice.v1.CaptureService"),
                              HasSubstr("grpc.health.v1.Health")));
}

TEST_F(SwitchServiceTest, TheSocketIsForOwnerAndGroup) {
  struct stat file;
  ASSERT_EQ(stat(test_server_.socket().c_str(), &file), 0);
  EXPECT_TRUE(S_ISSOCK(file.st_mode));
  EXPECT_EQ(file.st_mode & 0777, 0660u);
}

TEST_F(SwitchServiceTest, TcpServesToo) {
  ASSERT_EQ(test_server_.addresses().size(), 2u);
  const std::string& address = test_server_.addresses()[1];
  EXPECT_THAT(address, AllOf(HasSubstr("127.0.0.1:"), ::testing::Not(::testing::EndsWith(":0"))));
  const auto stub = v1::SwitchService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  v1::GetSwitchResponse response;
  EXPECT_TRUE(Call(*stub, &Switch::GetSwitch, {}, &response).ok());
}

TEST_F(SwitchServiceTest, AnAddressInUseIsNotShared) {
  RequestCounters requests;
  FlowApi flows(test_server_.dataplane().flows(), {});
  PortApi ports(test_server_.dataplane());
  SwitchApi switch_api(test_server_.dataplane(), test_server_.dataplane().flows(), {}, NewSwitchIdentity());
  GroupApi groups(test_server_.dataplane(), {});
  MeterApi meters(test_server_.dataplane());
  MacApi macs(test_server_.dataplane());
  PacketApi packets(test_server_.dataplane(), test_server_.dataplane().flows(), {});
  CaptureApi captures(test_server_.dataplane(), test_server_.dataplane().flows(), {});
  TraceApi trace(test_server_.dataplane());
  FlowWatches watches(test_server_.dataplane().flows(), 1, "boot");
  for (const std::string& address : test_server_.addresses()) {
    const auto second =
        ApiServer::Start({address}, size_t{4} << 20,
                         {flows, ports, switch_api, macs, packets, trace, requests, watches, groups, meters, captures});
    EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
    EXPECT_THAT(std::string(second.status().message()), HasSubstr("cannot listen on " + address + ": "));
  }
  // The first goes on, on both.
  for (const std::string& address : test_server_.addresses()) {
    const auto stub = v1::SwitchService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    v1::GetSwitchResponse response;
    EXPECT_TRUE(Call(*stub, &Switch::GetSwitch, {}, &response).ok());
  }
}

int CountSeries(const std::string& scrape) {
  int series = 0;
  for (size_t at = 0; (at = scrape.find("\nsluice_", at)) != std::string::npos; ++at) ++series;
  return series;
}

TEST_F(SwitchServiceTest, AScrapeShowsTheSwitch) {
  PacketApi packets(test_server_.dataplane(), test_server_.dataplane().flows(), {});
  CaptureApi captures(test_server_.dataplane(), test_server_.dataplane().flows(), {});
  FlowWatches watches(test_server_.dataplane().flows(), 1, "boot");
  auto metrics = MetricsServer::Start(
      "127.0.0.1:0", std::make_shared<Metrics>(test_server_.dataplane(), test_server_.dataplane().flows(), packets,
                                               captures, test_server_.requests(), watches, test_server_.identity()));
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  MustCreatePort(Ring("r1"));
  v1::FlowSpec spec = UdpFlow(1, 0);
  ASSERT_TRUE(Create(spec).ok());
  const std::string before = HttpGet((*metrics)->url());
  EXPECT_THAT(before, AllOf(HasSubstr("HTTP/1.1 200 OK"), HasSubstr("sluice_build_info{version=\"0.1.0\",dpdk=\"DPDK"),
                            HasSubstr("sluice_port_receive_packets_total{port=\"r1\"} 0\n"),
                            HasSubstr("sluice_table_flows{table=\"0\"} 1\n"),
                            HasSubstr("sluice_worker_idle_cycles_total{worker=\"0\"} "),
                            HasSubstr("method=\"sluice.v1.FlowService/CreateFlow\",code=\"OK\"} ")));

  // Flows are no series, and series of deleted ports are gone.
  for (int i = 1; i < 500; ++i) ASSERT_TRUE(Create(UdpFlow(1, i)).ok());
  for (int i = 0; i < 5; ++i) {
    MustCreatePort(Ring("come", 9));
    v1::DeletePortRequest remove;
    remove.mutable_key()->set_number(9);
    v1::DeletePortResponse removed;
    ASSERT_TRUE(Call(*ports_, &v1::PortService::Stub::DeletePort, remove, &removed).ok());
  }
  const std::string after = HttpGet((*metrics)->url());
  EXPECT_THAT(after, HasSubstr("sluice_table_flows{table=\"0\"} 500\n"));
  EXPECT_EQ(after.find("\"come\""), std::string::npos);
  EXPECT_LE(CountSeries(after), CountSeries(before) + 10);

  const auto second = MetricsServer::Start((*metrics)->url().substr(7, (*metrics)->url().size() - 15), nullptr);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace sluice
