#include "tests/integration/api_fixture.h"

#include <grpcpp/generic/generic_stub.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

std::string MakeFolder() {
  std::string name = ::testing::TempDir() + "/sluice-api-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) abort();
  return name;
}

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

}  // namespace

struct ServerDestroyer {
  void operator()(TestServer* server) const { delete server; }
};

TestServer& TestServer::Get() {
  // Destroyed at exit, so that the sanitizers see the end of it all.
  static std::unique_ptr<TestServer, ServerDestroyer> server(new TestServer);
  return *server;
}

TestServer::TestServer() : folder_(MakeFolder()), socket_(folder_ + "/api.sock"), identity_(NewSwitchIdentity()) {
  DataplaneConfig config;
  config.packet_buffers = 4096;
  auto dataplane = Dataplane::Start(config);
  if (!dataplane.ok()) {
    ADD_FAILURE() << dataplane.status();
    abort();
  }
  dataplane_ = *std::move(dataplane);
  const ApiLimits limits;
  flows_ = std::make_unique<FlowApi>(dataplane_->flows(), limits);
  watches_ = std::make_unique<FlowWatches>(dataplane_->flows(), kWatchers, identity_.boot_id);
  ports_ = std::make_unique<PortApi>(*dataplane_);
  switch_api_ = std::make_unique<SwitchApi>(*dataplane_, dataplane_->flows(), limits, identity_);
  trace_api_ = std::make_unique<TraceApi>(*dataplane_);
  groups_ = std::make_unique<GroupApi>(*dataplane_, limits);
  meters_ = std::make_unique<MeterApi>(*dataplane_);
  macs_ = std::make_unique<MacApi>(*dataplane_);
  packets_ = std::make_unique<PacketApi>(*dataplane_, dataplane_->flows(), limits);
  captures_ = std::make_unique<CaptureApi>(*dataplane_, dataplane_->flows(), limits);
  auto server = ApiServer::Start({"unix://" + socket_, "127.0.0.1:0"}, MaxRequestBytes(limits),
                                 {*flows_, *ports_, *switch_api_, *macs_, *packets_, *trace_api_, requests_, *watches_,
                                  *groups_, *meters_, *captures_});
  if (!server.ok()) {
    ADD_FAILURE() << server.status();
    abort();
  }
  server_ = *std::move(server);
  server_->SetServing(true);
  channel_ = grpc::CreateChannel("unix://" + socket_, grpc::InsecureChannelCredentials());
}

TestServer::~TestServer() {
  channel_.reset();
  server_.reset();
  watches_.reset();
  packets_.reset();
  captures_.reset();
  dataplane_.reset();
  std::filesystem::remove_all(folder_);
}

ApiTest::ApiTest()
    : flows_(v1::FlowService::NewStub(test_server_.channel())),
      ports_(v1::PortService::NewStub(test_server_.channel())),
      tables_(v1::TableService::NewStub(test_server_.channel())),
      switch_(v1::SwitchService::NewStub(test_server_.channel())),
      groups_(v1::GroupService::NewStub(test_server_.channel())),
      meters_(v1::MeterService::NewStub(test_server_.channel())),
      macs_(v1::MacService::NewStub(test_server_.channel())),
      packets_(v1::PacketService::NewStub(test_server_.channel())),
      captures_(v1::CaptureService::NewStub(test_server_.channel())) {}

ApiTest::~ApiTest() {
  v1::DeleteMatchingFlowsResponse deleted;
  EXPECT_TRUE(Call(*flows_, &v1::FlowService::Stub::DeleteMatchingFlows, {}, &deleted).ok());
  for (const GroupInfo& group : test_server_.dataplane().groups().List(0, SIZE_MAX)) {
    EXPECT_TRUE(test_server_.dataplane().groups().Delete(group.spec.id).ok());
  }
  for (const MeterInfo& meter : test_server_.dataplane().meters().List(0, SIZE_MAX)) {
    EXPECT_TRUE(test_server_.dataplane().meters().Delete(meter.spec.id).ok());
  }
  v1::ListPortsResponse ports;
  EXPECT_TRUE(Call(*ports_, &v1::PortService::Stub::ListPorts, {}, &ports).ok());
  for (const v1::Port& port : ports.ports()) {
    v1::DeletePortRequest request;
    request.mutable_key()->set_number(port.spec().number());
    v1::DeletePortResponse response;
    EXPECT_TRUE(Call(*ports_, &v1::PortService::Stub::DeletePort, request, &response).ok());
  }
}

v1::Flow ApiTest::MustCreate(const v1::FlowSpec& spec) {
  v1::CreateFlowRequest request;
  *request.mutable_flow() = spec;
  v1::CreateFlowResponse response;
  const grpc::Status status = Call(*flows_, &v1::FlowService::Stub::CreateFlow, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.flow();
}

v1::Port ApiTest::MustCreatePort(const v1::PortSpec& spec) {
  v1::CreatePortRequest request;
  *request.mutable_port() = spec;
  v1::CreatePortResponse response;
  const grpc::Status status = Call(*ports_, &v1::PortService::Stub::CreatePort, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.port();
}

v1::PortSpec ApiTest::Ring(const std::string& name, uint32_t number) {
  v1::PortSpec spec;
  spec.set_name(name);
  spec.set_number(number);
  spec.mutable_ring();
  return spec;
}

std::string Frame(size_t size, char source) {
  std::string frame("\x02\0\0\0\0\xbb\x02\0\0\0\0", 11);
  frame += source;
  frame += "\x88\xb5";
  frame.resize(size, 'x');
  return frame;
}

v1::FlowSpec UdpFlow(uint32_t priority, uint64_t udp_dst) {
  v1::FlowSpec spec;
  spec.set_priority(priority);
  *spec.mutable_match() = testing::MatchBuilder().Ip(testing::kIpv4, 17).On(v1::FIELD_UDP_DST, udp_dst).match();
  *spec.add_actions() = testing::Output(2);
  return spec;
}

v1::FlowKey KeyOf(uint64_t id) {
  v1::FlowKey key;
  key.set_id(id);
  return key;
}

v1::FlowKey KeyOf(const v1::FlowSpec& spec) {
  v1::FlowKey key;
  key.mutable_identity()->set_priority(spec.priority());
  *key.mutable_identity()->mutable_match() = spec.match();
  return key;
}

google::rpc::Status RpcStatusOf(const grpc::Status& status) {
  google::rpc::Status rpc;
  EXPECT_TRUE(rpc.ParseFromString(status.error_details())) << status.error_message();
  return rpc;
}

google::rpc::BadRequest BadRequestOf(const grpc::Status& status) {
  google::rpc::BadRequest details;
  const google::rpc::Status rpc = RpcStatusOf(status);
  EXPECT_EQ(rpc.code(), status.error_code());
  EXPECT_EQ(rpc.details_size(), 1) << rpc.DebugString();
  if (rpc.details_size() == 1) EXPECT_TRUE(rpc.details(0).UnpackTo(&details));
  return details;
}

grpc::Status RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request, std::string* response) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  // One operation after another; each leaves one event.
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  bool good = done();
  call->Write(BufferOf(request), nullptr);
  good = done() && good;
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  if (done() && good) *response = BytesOf(answer);
  call->WritesDone(nullptr);
  done();
  grpc::Status status;
  call->Finish(&status, nullptr);
  done();
  return status;
}

}  // namespace sluice
