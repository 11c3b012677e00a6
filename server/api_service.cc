#include "server/api_service.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/capture_service.h"
#include "server/flow_service.h"
#include "server/group_service.h"
#include "server/listen_address.h"
#include "server/listen_check.h"
#include "server/mac_service.h"
#include "server/meter_service.h"
#include "server/packet_service.h"
#include "server/port_service.h"
#include "server/switch_service.h"
#include "server/table_service.h"
#include "server/trace_service.h"
#include "sluice/v1/capture_service.grpc.pb.h"
#include "sluice/v1/flow_service.grpc.pb.h"
#include "sluice/v1/group_service.grpc.pb.h"
#include "sluice/v1/mac_service.grpc.pb.h"
#include "sluice/v1/meter_service.grpc.pb.h"
#include "sluice/v1/packet_service.grpc.pb.h"
#include "sluice/v1/port_service.grpc.pb.h"
#include "sluice/v1/switch_service.grpc.pb.h"
#include "sluice/v1/table_service.grpc.pb.h"
#include "sluice/v1/trace_service.grpc.pb.h"

namespace sluice {
namespace {

// A socket's file gets mode 0660 from its first moment.
constexpr mode_t kSocketUmask = 0117;

// gRPC's own log repeats in many lines what we say in one.
void LogGrpc(gpr_log_func_args* args) { spdlog::debug("grpc: {}", args->message); }

absl::StatusOr<std::vector<ListenAddress>> ParseAll(const std::vector<std::string>& listen) {
  std::vector<ListenAddress> addresses;
  for (const std::string& text : listen) {
    absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
    if (!address.ok()) return address.status();
    if (absl::Status status = PrepareToListen(*address); !status.ok()) return status;
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

// Which of the addresses it was, and why.
absl::Status WhyNot(const std::vector<ListenAddress>& addresses) {
  for (const ListenAddress& address : addresses) {
    if (absl::Status status = TryToListen(address); !status.ok()) return status;
  }
  return absl::InternalError("gRPC does not start on any of its addresses, though each could be listened on");
}

}  // namespace

class ApiServer::Impl {
 public:
  explicit Impl(const Apis& apis) : watches_(apis.watches) {
    services_.push_back(MakeFlowService(apis.flows, apis.watches, apis.requests));
    services_.push_back(MakePortService(apis.ports, apis.requests));
    services_.push_back(MakeTableService(apis.switch_api, apis.requests));
    services_.push_back(MakeSwitchService(apis.switch_api, apis.requests));
    services_.push_back(MakeTraceService(apis.trace, apis.requests));
    services_.push_back(MakeGroupService(apis.groups, apis.requests));
    services_.push_back(MakeMeterService(apis.meters, apis.requests));
    services_.push_back(MakeMacService(apis.macs, apis.requests));
    services_.push_back(MakePacketService(apis.packets, apis.requests));
    services_.push_back(MakeCaptureService(apis.captures, apis.requests));
  }

  absl::Status Start(std::vector<ListenAddress> addresses, size_t max_request_bytes) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(static_cast<int>(max_request_bytes));
    // With it two processes could listen on one port, and each get some of the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    for (const auto& service : services_) builder.RegisterService(service.get());
    std::vector<int> ports(addresses.size(), 0);
    for (size_t i = 0; i < addresses.size(); ++i) {
      builder.AddListeningPort(addresses[i].ToString(), grpc::InsecureServerCredentials(), &ports[i]);
    }
    const mode_t umask_before = umask(kSocketUmask);
    server_ = builder.BuildAndStart();
    umask(umask_before);
    if (server_ == nullptr) return WhyNot(addresses);
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (!addresses[i].is_unix()) addresses[i].port = static_cast<uint16_t>(ports[i]);
      addresses_.push_back(addresses[i].ToString());
    }
    SetServing(false);
    return absl::OkStatus();
  }

  void SetServing(bool serving) {
    grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
    health->SetServingStatus("", serving);
    for (const char* name : {v1::FlowService::service_full_name(), v1::PortService::service_full_name(),
                             v1::TableService::service_full_name(), v1::SwitchService::service_full_name(),
                             v1::TraceService::service_full_name(), v1::GroupService::service_full_name(),
                             v1::MeterService::service_full_name(), v1::MacService::service_full_name(),
                             v1::PacketService::service_full_name(), v1::CaptureService::service_full_name()}) {
      health->SetServingStatus(name, serving);
    }
  }

  void Shutdown(absl::Duration grace) {
    if (server_ == nullptr) return;
    watches_.Close();
    server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
    server_->Wait();
    server_.reset();
  }

  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  FlowWatches& watches_;
  std::vector<std::unique_ptr<grpc::Service>> services_;  // outlive server_
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
};

absl::StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(const std::vector<std::string>& listen,
                                                            size_t max_request_bytes, const Apis& apis) {
  gpr_set_log_function(LogGrpc);
  absl::StatusOr<std::vector<ListenAddress>> addresses = ParseAll(listen);
  if (!addresses.ok()) return addresses.status();
  auto impl = std::make_unique<Impl>(apis);
  if (absl::Status status = impl->Start(*std::move(addresses), max_request_bytes); !status.ok()) return status;
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() { Shutdown(absl::ZeroDuration()); }

const std::vector<std::string>& ApiServer::addresses() const { return impl_->addresses(); }
void ApiServer::SetServing(bool serving) { impl_->SetServing(serving); }
void ApiServer::Shutdown(absl::Duration grace) { impl_->Shutdown(grace); }

size_t MaxRequestBytes(const ApiLimits& limits) {
  constexpr size_t kAtLeast = size_t{4} << 20;   // gRPC's own default
  constexpr size_t kAtMost = size_t{512} << 20;  // whatever the limits say
  constexpr size_t kLongestMatch = 1024;         // every field once, wide ones with masks
  constexpr size_t kLongestAction = 48;          // set_field of an IPv6 address under a mask
  const size_t bytes = limits.batch_items * (kLongestMatch + limits.actions_per_flow * kLongestAction);
  const size_t group = size_t{limits.buckets_per_group} * limits.actions_per_flow * kLongestAction;
  return std::clamp(std::max(bytes, group), kAtLeast, kAtMost);
}

}  // namespace sluice
