// A real server for tests: the dataplane (EAL without huge pages, once a
// process), the API on a UNIX socket and on a loopback port, and stubs.

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/api_service.h"
#include "server/switch_api.h"
#include "sluice/v1/capture_service.grpc.pb.h"
#include "sluice/v1/flow_service.grpc.pb.h"
#include "sluice/v1/group_service.grpc.pb.h"
#include "sluice/v1/mac_service.grpc.pb.h"
#include "sluice/v1/meter_service.grpc.pb.h"
#include "sluice/v1/packet_service.grpc.pb.h"
#include "sluice/v1/port_service.grpc.pb.h"
#include "sluice/v1/switch_service.grpc.pb.h"
#include "sluice/v1/table_service.grpc.pb.h"
#include "tests/unit/server/convert_testing.h"

namespace sluice {

// What every test of the process shares.
class TestServer {
 public:
  static TestServer& Get();

  Dataplane& dataplane() { return *dataplane_; }
  const std::string& folder() const { return folder_; }
  const std::string& socket() const { return socket_; }
  const std::vector<std::string>& addresses() const { return server_->addresses(); }
  ApiServer& server() { return *server_; }
  RequestCounters& requests() { return requests_; }
  static constexpr uint32_t kWatchers = 8;
  FlowWatches& watches() { return *watches_; }
  PacketApi& packets() { return *packets_; }
  CaptureApi& captures() { return *captures_; }
  const SwitchIdentity& identity() const { return identity_; }
  // To the socket; the same for all.
  std::shared_ptr<grpc::Channel> channel() { return channel_; }

 private:
  TestServer();
  ~TestServer();
  friend struct ServerDestroyer;

  std::string folder_;
  std::string socket_;
  std::unique_ptr<Dataplane> dataplane_;
  SwitchIdentity identity_;
  RequestCounters requests_;
  std::unique_ptr<FlowApi> flows_;
  std::unique_ptr<FlowWatches> watches_;
  std::unique_ptr<PortApi> ports_;
  std::unique_ptr<SwitchApi> switch_api_;
  std::unique_ptr<TraceApi> trace_api_;
  std::unique_ptr<GroupApi> groups_;
  std::unique_ptr<MeterApi> meters_;
  std::unique_ptr<MacApi> macs_;
  std::unique_ptr<PacketApi> packets_;
  std::unique_ptr<CaptureApi> captures_;
  std::unique_ptr<ApiServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// Stubs, and an empty switch after each test.
class ApiTest : public ::testing::Test {
 protected:
  ApiTest();
  ~ApiTest() override;

  // One unary call with a deadline.
  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    response->Clear();
    return (stub.*method)(&context, request, response);
  }

  v1::Flow MustCreate(const v1::FlowSpec& spec);
  v1::Port MustCreatePort(const v1::PortSpec& spec);
  v1::PortSpec Ring(const std::string& name, uint32_t number = 0);

  TestServer& test_server_ = TestServer::Get();
  std::unique_ptr<v1::FlowService::Stub> flows_;
  std::unique_ptr<v1::PortService::Stub> ports_;
  std::unique_ptr<v1::TableService::Stub> tables_;
  std::unique_ptr<v1::SwitchService::Stub> switch_;
  std::unique_ptr<v1::GroupService::Stub> groups_;
  std::unique_ptr<v1::MeterService::Stub> meters_;
  std::unique_ptr<v1::MacService::Stub> macs_;
  std::unique_ptr<v1::PacketService::Stub> packets_;
  std::unique_ptr<v1::CaptureService::Stub> captures_;
};

// A frame from 02:00:00:00:00:<source> to 02:00:00:00:00:bb.
std::string Frame(size_t size = 60, char source = 1);
// A flow on UDP over IPv4 to port 2.
v1::FlowSpec UdpFlow(uint32_t priority, uint64_t udp_dst);
v1::FlowKey KeyOf(uint64_t id);
v1::FlowKey KeyOf(const v1::FlowSpec& spec);

// The google.rpc.Status in a call's trailing metadata.
google::rpc::Status RpcStatusOf(const grpc::Status& status);
// Its BadRequest; empty if there is none.
google::rpc::BadRequest BadRequestOf(const grpc::Status& status);

// Any method, by name and bytes: what a client without our stubs sees. Returns
// the bytes of the first answer.
grpc::Status RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request, std::string* response);

}  // namespace sluice
