#include "client/client.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
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

namespace sluice::client {
namespace {

// The message, and a line for each field that the details name and the message
// does not.
std::string FullMessage(const google::rpc::Status& status) {
  std::string text = status.message();
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::BadRequest bad;
    if (!detail.UnpackTo(&bad)) continue;
    for (const google::rpc::BadRequest::FieldViolation& violation : bad.field_violations()) {
      const bool told = absl::StrContains(text, violation.description()) && absl::StrContains(text, violation.field());
      if (!told) absl::StrAppend(&text, "\n", violation.field(), ": ", violation.description());
    }
  }
  return text;
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status details;
  const bool detailed = !status.error_details().empty() && details.ParseFromString(status.error_details());
  details.set_code(status.error_code());
  details.set_message(status.error_message());
  absl::Status out = ToStatus(details);
  if (!detailed) out.ErasePayload(kStatusPayload);
  return out;
}

void Prepare(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
}

}  // namespace

absl::Status ToStatus(const google::rpc::Status& error) {
  absl::Status status(static_cast<absl::StatusCode>(error.code()), FullMessage(error));
  if (!status.ok()) status.SetPayload(kStatusPayload, absl::Cord(error.SerializeAsString()));
  return status;
}

void CallStop::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (cancel_ != nullptr) cancel_();
}

// A call that a CallStop, if there is one, ends as long as this lives.
class CallStopScope {
 public:
  CallStopScope(CallStop* stop, grpc::ClientContext& context) : stop_(stop) {
    if (stop_ == nullptr) return;
    const std::lock_guard lock(stop_->mutex_);
    stop_->cancel_ = [&context] { context.TryCancel(); };
    if (stop_->stopped_) context.TryCancel();
  }
  ~CallStopScope() {
    if (stop_ == nullptr) return;
    const std::lock_guard lock(stop_->mutex_);
    stop_->cancel_ = nullptr;
  }
  CallStopScope(const CallStopScope&) = delete;
  CallStopScope& operator=(const CallStopScope&) = delete;

  bool stopped() const {
    if (stop_ == nullptr) return false;
    const std::lock_guard lock(stop_->mutex_);
    return stop_->stopped_;
  }

 private:
  CallStop* const stop_;
};

namespace {

template <typename Response>
absl::Status Visit(grpc::ClientReader<Response>& reader, grpc::ClientContext& context,
                   const std::function<bool(const Response&)>& visit, CallStop* stop) {
  const CallStopScope scope(stop, context);
  Response response;
  bool wants = true;
  while (wants && reader.Read(&response)) wants = visit(response);
  if (!wants) context.TryCancel();
  const grpc::Status status = reader.Finish();
  const bool as_wished = !wants || (status.error_code() == grpc::StatusCode::CANCELLED && scope.stopped());
  return as_wished ? absl::OkStatus() : FromGrpc(status);
}

}  // namespace

struct Client::Impl {
  Impl(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& o)
      : options(o),
        flows(channel),
        ports(channel),
        tables(channel),
        macs(channel),
        packets(channel),
        captures(channel),
        switches(channel),
        groups(channel),
        meters(channel),
        traces(channel) {}

  // One blocking call.
  template <typename Response, typename Stub, typename Request>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                                Stub& stub, const Request& request) {
    grpc::ClientContext context;
    Prepare(context, options.timeout);
    Response response;
    if (absl::Status status = FromGrpc((stub.*method)(&context, request, &response)); !status.ok()) return status;
    return response;
  }

  ClientOptions options;
  v1::FlowService::Stub flows;
  v1::PortService::Stub ports;
  v1::TableService::Stub tables;
  v1::MacService::Stub macs;
  v1::PacketService::Stub packets;
  v1::CaptureService::Stub captures;
  v1::SwitchService::Stub switches;
  v1::GroupService::Stub groups;
  v1::MeterService::Stub meters;
  v1::TraceService::Stub traces;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address, const ClientOptions& options) {
  const bool unix_socket = absl::StartsWith(address, "unix:");
  if (address.empty() || (!unix_socket && !absl::StrContains(address, ':')) || address == "unix:") {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is no address of a switch; expected unix:///PATH or HOST:PORT"));
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A switch that has been started again is found soon.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(channel, options)));
}

using FlowStub = v1::FlowService::Stub;
using PortStub = v1::PortService::Stub;
using TableStub = v1::TableService::Stub;
using SwitchStub = v1::SwitchService::Stub;
using GroupStub = v1::GroupService::Stub;
using MeterStub = v1::MeterService::Stub;

absl::StatusOr<v1::CreateFlowResponse> Client::CreateFlow(const v1::CreateFlowRequest& request) {
  return impl_->Call(&FlowStub::CreateFlow, impl_->flows, request);
}
absl::StatusOr<v1::GetFlowResponse> Client::GetFlow(const v1::GetFlowRequest& request) {
  return impl_->Call(&FlowStub::GetFlow, impl_->flows, request);
}
absl::StatusOr<v1::UpdateFlowResponse> Client::UpdateFlow(const v1::UpdateFlowRequest& request) {
  return impl_->Call(&FlowStub::UpdateFlow, impl_->flows, request);
}
absl::StatusOr<v1::DeleteFlowResponse> Client::DeleteFlow(const v1::DeleteFlowRequest& request) {
  return impl_->Call(&FlowStub::DeleteFlow, impl_->flows, request);
}
absl::StatusOr<v1::DeleteMatchingFlowsResponse> Client::DeleteMatchingFlows(
    const v1::DeleteMatchingFlowsRequest& request) {
  return impl_->Call(&FlowStub::DeleteMatchingFlows, impl_->flows, request);
}
absl::StatusOr<v1::ListFlowsResponse> Client::ListFlows(const v1::ListFlowsRequest& request) {
  return impl_->Call(&FlowStub::ListFlows, impl_->flows, request);
}
absl::StatusOr<v1::BatchWriteResponse> Client::BatchWrite(const v1::BatchWriteRequest& request) {
  return impl_->Call(&FlowStub::BatchWrite, impl_->flows, request);
}

absl::Status Client::VisitFlows(const v1::FlowFilter& filter,
                                const std::function<absl::Status(const v1::Flow&)>& visit) {
  v1::ListFlowsRequest request;
  *request.mutable_filter() = filter;
  do {
    const absl::StatusOr<v1::ListFlowsResponse> page = ListFlows(request);
    if (!page.ok()) return page.status();
    for (const v1::Flow& flow : page->flows()) {
      if (absl::Status status = visit(flow); !status.ok()) return status;
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

absl::Status Client::WatchFlows(const v1::WatchFlowsRequest& request,
                                const std::function<absl::Status(const v1::WatchFlowsResponse&)>& take) {
  grpc::ClientContext context;
  const auto reader = impl_->flows.WatchFlows(&context, request);
  v1::WatchFlowsResponse message;
  absl::Status taken;
  while (taken.ok() && reader->Read(&message)) taken = take(message);
  if (!taken.ok()) context.TryCancel();
  const absl::Status ended = FromGrpc(reader->Finish());
  if (!taken.ok()) return taken;
  return ended.ok() ? absl::UnavailableError("the switch ended the watch") : ended;
}

absl::StatusOr<v1::CreatePortResponse> Client::CreatePort(const v1::CreatePortRequest& request) {
  return impl_->Call(&PortStub::CreatePort, impl_->ports, request);
}
absl::StatusOr<v1::GetPortResponse> Client::GetPort(const v1::GetPortRequest& request) {
  return impl_->Call(&PortStub::GetPort, impl_->ports, request);
}
absl::StatusOr<v1::UpdatePortResponse> Client::UpdatePort(const v1::UpdatePortRequest& request) {
  return impl_->Call(&PortStub::UpdatePort, impl_->ports, request);
}
absl::StatusOr<v1::DeletePortResponse> Client::DeletePort(const v1::DeletePortRequest& request) {
  return impl_->Call(&PortStub::DeletePort, impl_->ports, request);
}
absl::StatusOr<v1::ListPortsResponse> Client::ListPorts() {
  return impl_->Call(&PortStub::ListPorts, impl_->ports, v1::ListPortsRequest());
}

absl::StatusOr<v1::ListTablesResponse> Client::ListTables() {
  return impl_->Call(&TableStub::ListTables, impl_->tables, v1::ListTablesRequest());
}
absl::StatusOr<v1::UpdateTableResponse> Client::UpdateTable(const v1::UpdateTableRequest& request) {
  return impl_->Call(&TableStub::UpdateTable, impl_->tables, request);
}
absl::StatusOr<v1::ListMasksResponse> Client::ListMasks(const v1::ListMasksRequest& request) {
  return impl_->Call(&TableStub::ListMasks, impl_->tables, request);
}
absl::StatusOr<v1::ResortMasksResponse> Client::ResortMasks() {
  return impl_->Call(&TableStub::ResortMasks, impl_->tables, v1::ResortMasksRequest());
}

absl::StatusOr<v1::TracePacketResponse> Client::TracePacket(const v1::TracePacketRequest& request) {
  return impl_->Call(&v1::TraceService::Stub::TracePacket, impl_->traces, request);
}
absl::StatusOr<v1::Group> Client::CreateGroup(const v1::GroupSpec& spec) {
  v1::CreateGroupRequest request;
  *request.mutable_group() = spec;
  auto response = impl_->Call(&GroupStub::CreateGroup, impl_->groups, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_group());
}
absl::StatusOr<v1::Group> Client::GetGroup(uint32_t id) {
  v1::GetGroupRequest request;
  request.set_group_id(id);
  auto response = impl_->Call(&GroupStub::GetGroup, impl_->groups, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_group());
}
absl::StatusOr<v1::Group> Client::UpdateGroup(const v1::GroupSpec& spec, bool may_create) {
  v1::UpdateGroupRequest request;
  *request.mutable_group() = spec;
  request.set_allow_missing(may_create);
  auto response = impl_->Call(&GroupStub::UpdateGroup, impl_->groups, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_group());
}
absl::StatusOr<v1::Group> Client::DeleteGroup(uint32_t id) {
  v1::DeleteGroupRequest request;
  request.set_group_id(id);
  auto response = impl_->Call(&GroupStub::DeleteGroup, impl_->groups, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_group());
}
absl::StatusOr<std::vector<v1::Group>> Client::ListGroups() {
  v1::ListGroupsRequest request;
  std::vector<v1::Group> all;
  do {
    const auto page = impl_->Call(&GroupStub::ListGroups, impl_->groups, request);
    if (!page.ok()) return page.status();
    all.insert(all.end(), page->groups().begin(), page->groups().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::Meter> Client::CreateMeter(const v1::MeterSpec& spec) {
  v1::CreateMeterRequest request;
  *request.mutable_meter() = spec;
  auto response = impl_->Call(&MeterStub::CreateMeter, impl_->meters, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_meter());
}
absl::StatusOr<v1::Meter> Client::GetMeter(uint32_t id) {
  v1::GetMeterRequest request;
  request.set_meter_id(id);
  auto response = impl_->Call(&MeterStub::GetMeter, impl_->meters, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_meter());
}
absl::StatusOr<v1::Meter> Client::UpdateMeter(const v1::MeterSpec& spec, bool may_create) {
  v1::UpdateMeterRequest request;
  *request.mutable_meter() = spec;
  request.set_allow_missing(may_create);
  auto response = impl_->Call(&MeterStub::UpdateMeter, impl_->meters, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_meter());
}
absl::StatusOr<v1::Meter> Client::DeleteMeter(uint32_t id) {
  v1::DeleteMeterRequest request;
  request.set_meter_id(id);
  auto response = impl_->Call(&MeterStub::DeleteMeter, impl_->meters, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_meter());
}
absl::StatusOr<std::vector<v1::Meter>> Client::ListMeters() {
  v1::ListMetersRequest request;
  std::vector<v1::Meter> all;
  do {
    const auto page = impl_->Call(&MeterStub::ListMeters, impl_->meters, request);
    if (!page.ok()) return page.status();
    all.insert(all.end(), page->meters().begin(), page->meters().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::ListMacsResponse> Client::ListMacs(const v1::ListMacsRequest& request) {
  return impl_->Call(&v1::MacService::Stub::ListMacs, impl_->macs, request);
}
absl::StatusOr<v1::FlushMacsResponse> Client::FlushMacs(const v1::FlushMacsRequest& request) {
  return impl_->Call(&v1::MacService::Stub::FlushMacs, impl_->macs, request);
}

absl::Status Client::WatchPackets(const v1::WatchPacketsRequest& request,
                                  const std::function<bool(const v1::WatchPacketsResponse&)>& visit, CallStop* stop) {
  grpc::ClientContext context;
  return Visit(*impl_->packets.WatchPackets(&context, request), context, visit, stop);
}
absl::Status Client::Capture(const v1::CaptureRequest& request,
                             const std::function<bool(const v1::CaptureResponse&)>& visit, CallStop* stop) {
  grpc::ClientContext context;
  return Visit(*impl_->captures.Capture(&context, request), context, visit, stop);
}
absl::StatusOr<v1::SendPacketResponse> Client::SendPacket(const v1::SendPacketRequest& request) {
  return impl_->Call(&v1::PacketService::Stub::SendPacket, impl_->packets, request);
}

absl::Status Client::SendPackets(const std::function<bool(v1::SendPacketRequest&)>& next,
                                 const std::function<void(const v1::SendPacketsResponse&)>& answered) {
  grpc::ClientContext context;
  const auto call = impl_->packets.SendPackets(&context);
  std::thread writer([&] {
    v1::SendPacketsRequest request;
    while (next(*request.mutable_packet()) && call->Write(request)) {
    }
    call->WritesDone();
  });
  v1::SendPacketsResponse response;
  while (call->Read(&response)) answered(response);
  writer.join();
  return FromGrpc(call->Finish());
}

absl::StatusOr<v1::GetSwitchResponse> Client::GetSwitch() {
  return impl_->Call(&SwitchStub::GetSwitch, impl_->switches, v1::GetSwitchRequest());
}
absl::StatusOr<v1::GetCapabilitiesResponse> Client::GetCapabilities() {
  return impl_->Call(&SwitchStub::GetCapabilities, impl_->switches, v1::GetCapabilitiesRequest());
}
absl::StatusOr<v1::GetSettingsResponse> Client::GetSettings() {
  return impl_->Call(&SwitchStub::GetSettings, impl_->switches, v1::GetSettingsRequest());
}
absl::StatusOr<v1::UpdateSettingsResponse> Client::UpdateSettings(const v1::UpdateSettingsRequest& request) {
  return impl_->Call(&SwitchStub::UpdateSettings, impl_->switches, request);
}

struct FlowWriter::Impl {
  // A batch, from the moment its first item is added.
  struct Batch {
    grpc::ClientContext context;
    v1::BatchWriteRequest request;
    v1::BatchWriteResponse response;
    grpc::Status status;  // written by gRPC's thread before done
    uint64_t first_index = 0;
    size_t bytes = 0;
    bool done = false;  // guarded by mutex
  };

  void Send() {
    if (filling->request.items().empty()) return;
    filling->request.set_mode(v1::BATCH_MODE_PER_ITEM);
    Batch* batch = filling.get();
    in_flight.push_back(std::move(filling));
    filling = std::make_unique<Batch>();
    filling->first_index = added;
    Prepare(batch->context, client->options.timeout);
    client->flows.async()->BatchWrite(&batch->context, &batch->request, &batch->response,
                                      [this, batch](const grpc::Status& status) {
                                        absl::MutexLock lock(&mutex);
                                        batch->status = status;
                                        batch->done = true;
                                      });
  }

  // Waits for the oldest call and takes its answer.
  void Take() {
    Batch* batch = in_flight.front().get();
    mutex.LockWhen(absl::Condition(&batch->done));
    mutex.Unlock();
    if (!batch->status.ok()) {
      if (error.ok()) error = FromGrpc(batch->status);
    } else {
      for (const v1::BatchItemResult& result : batch->response.results()) {
        if (!result.has_error()) continue;
        ++failed;
        if (options.on_error) options.on_error(batch->first_index + result.index(), ToStatus(result.error()));
      }
      succeeded += batch->request.items_size();
    }
    in_flight.pop_front();
  }

  Client::Impl* client = nullptr;
  FlowWriterOptions options;
  absl::Mutex mutex;
  std::unique_ptr<Batch> filling = std::make_unique<Batch>();
  std::deque<std::unique_ptr<Batch>> in_flight;
  absl::Status error;
  uint64_t added = 0;
  uint64_t succeeded = 0;  // with the failed ones
  uint64_t failed = 0;
};

FlowWriter::FlowWriter(Client& client, FlowWriterOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->client = client.impl_.get();
  impl_->options = std::move(options);
}

FlowWriter::~FlowWriter() {
  while (!impl_->in_flight.empty()) impl_->Take();
}

absl::Status FlowWriter::Add(v1::BatchItem item) {
  if (!impl_->error.ok()) return impl_->error;
  const size_t bytes = item.ByteSizeLong() + 8;  // with tag and length
  v1::BatchWriteRequest& request = impl_->filling->request;
  const bool full = request.items_size() >= impl_->options.max_items ||
                    (request.items_size() > 0 && impl_->filling->bytes + bytes > impl_->options.max_bytes);
  if (full) {
    while (impl_->in_flight.size() >= static_cast<size_t>(impl_->options.calls_in_flight)) impl_->Take();
    if (!impl_->error.ok()) return impl_->error;
    impl_->Send();
  }
  *impl_->filling->request.add_items() = std::move(item);
  impl_->filling->bytes += bytes;
  ++impl_->added;
  return absl::OkStatus();
}

absl::Status FlowWriter::Finish() {
  while (impl_->in_flight.size() >= static_cast<size_t>(impl_->options.calls_in_flight)) impl_->Take();
  if (impl_->error.ok()) impl_->Send();
  while (!impl_->in_flight.empty()) impl_->Take();
  return impl_->error;
}

uint64_t FlowWriter::succeeded() const { return impl_->succeeded - impl_->failed; }
uint64_t FlowWriter::failed() const { return impl_->failed; }

}  // namespace sluice::client
