// A connection to a switch: the API's calls, typed, with their errors as
// absl::Status.
//
// Errors. The code is the call's gRPC code (UNAVAILABLE: the switch cannot be
// reached; DEADLINE_EXCEEDED: it did not answer in time). The message is the
// switch's own and, where the details name fields of the request, a line for
// each: "flow.match.fields[2].mask: ...". The details themselves stand in the
// status's payload under kStatusPayload, a serialized google.rpc.Status.
//
// Threads. All functions may be called from any thread and block until the
// switch has answered. A FlowWriter belongs to one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sluice/v1/capture_service.pb.h"
#include "sluice/v1/flow_service.pb.h"
#include "sluice/v1/group_service.pb.h"
#include "sluice/v1/mac_service.pb.h"
#include "sluice/v1/meter_service.pb.h"
#include "sluice/v1/packet_service.pb.h"
#include "sluice/v1/port_service.pb.h"
#include "sluice/v1/switch_service.pb.h"
#include "sluice/v1/table_service.pb.h"
#include "sluice/v1/trace_service.pb.h"

namespace sluice::client {

inline constexpr char kDefaultAddress[] = "unix:///run/sluice/sluice.sock";
inline constexpr char kStatusPayload[] = "type.googleapis.com/google.rpc.Status";

struct ClientOptions {
  absl::Duration timeout = absl::Seconds(30);  // of each call
};

// An item's error in a batch's result, as a call's error would be.
absl::Status ToStatus(const google::rpc::Status& error);

// Ends calls that were given it. Outlives them.
class CallStop {
 public:
  // Any thread; also before a call begins, which then ends at once.
  void Stop();

 private:
  friend class CallStopScope;

  std::mutex mutex_;  // guards what follows
  bool stopped_ = false;
  std::function<void()> cancel_;  // the call that is under way; empty: none
};

class Client {
 public:
  // "unix:///path" or "host:port". Does not wait for the switch: the first call
  // finds out whether it is there. INVALID_ARGUMENT for another form of address.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address, const ClientOptions& options = {});
  ~Client();

  absl::StatusOr<v1::CreateFlowResponse> CreateFlow(const v1::CreateFlowRequest& request);
  absl::StatusOr<v1::GetFlowResponse> GetFlow(const v1::GetFlowRequest& request);
  absl::StatusOr<v1::UpdateFlowResponse> UpdateFlow(const v1::UpdateFlowRequest& request);
  absl::StatusOr<v1::DeleteFlowResponse> DeleteFlow(const v1::DeleteFlowRequest& request);
  absl::StatusOr<v1::DeleteMatchingFlowsResponse> DeleteMatchingFlows(const v1::DeleteMatchingFlowsRequest& request);
  absl::StatusOr<v1::ListFlowsResponse> ListFlows(const v1::ListFlowsRequest& request);
  absl::StatusOr<v1::BatchWriteResponse> BatchWrite(const v1::BatchWriteRequest& request);

  // Calls `visit` for every flow that the filter selects, page by page, by
  // ascending id. Stops at the first error, the visitor's or the switch's.
  absl::Status VisitFlows(const v1::FlowFilter& filter, const std::function<absl::Status(const v1::Flow&)>& visit);

  // Calls `take` for each message, until the stream or `take` ends it with an
  // error, which is returned; never by itself with OK. options.timeout does not apply.
  absl::Status WatchFlows(const v1::WatchFlowsRequest& request,
                          const std::function<absl::Status(const v1::WatchFlowsResponse&)>& take);

  absl::StatusOr<v1::CreatePortResponse> CreatePort(const v1::CreatePortRequest& request);
  absl::StatusOr<v1::GetPortResponse> GetPort(const v1::GetPortRequest& request);
  absl::StatusOr<v1::UpdatePortResponse> UpdatePort(const v1::UpdatePortRequest& request);
  absl::StatusOr<v1::DeletePortResponse> DeletePort(const v1::DeletePortRequest& request);
  absl::StatusOr<v1::ListPortsResponse> ListPorts();

  absl::StatusOr<v1::ListTablesResponse> ListTables();
  absl::StatusOr<v1::UpdateTableResponse> UpdateTable(const v1::UpdateTableRequest& request);
  absl::StatusOr<v1::ListMasksResponse> ListMasks(const v1::ListMasksRequest& request);
  absl::StatusOr<v1::ResortMasksResponse> ResortMasks();

  absl::StatusOr<v1::TracePacketResponse> TracePacket(const v1::TracePacketRequest& request);
  absl::StatusOr<v1::Group> CreateGroup(const v1::GroupSpec& spec);
  absl::StatusOr<v1::Group> GetGroup(uint32_t id);
  // Creates it if there is none and it may.
  absl::StatusOr<v1::Group> UpdateGroup(const v1::GroupSpec& spec, bool may_create);
  // With its final counters.
  absl::StatusOr<v1::Group> DeleteGroup(uint32_t id);
  absl::StatusOr<std::vector<v1::Group>> ListGroups();  // all, by ascending id

  absl::StatusOr<v1::Meter> CreateMeter(const v1::MeterSpec& spec);
  absl::StatusOr<v1::Meter> GetMeter(uint32_t id);
  absl::StatusOr<v1::Meter> UpdateMeter(const v1::MeterSpec& spec, bool may_create);
  absl::StatusOr<v1::Meter> DeleteMeter(uint32_t id);
  absl::StatusOr<std::vector<v1::Meter>> ListMeters();
  absl::StatusOr<v1::ListMacsResponse> ListMacs(const v1::ListMacsRequest& request);
  absl::StatusOr<v1::FlushMacsResponse> FlushMacs(const v1::FlushMacsRequest& request);

  // Calls `visit` for what comes until it returns false or `stop` says so (then OK),
  // or the switch ends the call, without a timeout.
  absl::Status WatchPackets(const v1::WatchPacketsRequest& request,
                            const std::function<bool(const v1::WatchPacketsResponse&)>& visit,
                            CallStop* stop = nullptr);
  // The same. The first message has no packets: the switch captures from then on.
  absl::Status Capture(const v1::CaptureRequest& request, const std::function<bool(const v1::CaptureResponse&)>& visit,
                       CallStop* stop = nullptr);
  absl::StatusOr<v1::SendPacketResponse> SendPacket(const v1::SendPacketRequest& request);
  // Sends what `next` gives until it returns false, at the switch's pace, and calls `answered` with
  // each answer, in order. `next` runs in a thread of its own.
  absl::Status SendPackets(const std::function<bool(v1::SendPacketRequest&)>& next,
                           const std::function<void(const v1::SendPacketsResponse&)>& answered);

  absl::StatusOr<v1::GetSwitchResponse> GetSwitch();
  absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities();
  absl::StatusOr<v1::GetSettingsResponse> GetSettings();
  absl::StatusOr<v1::UpdateSettingsResponse> UpdateSettings(const v1::UpdateSettingsRequest& request);

 private:
  friend class FlowWriter;
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct FlowWriterOptions {
  int max_items = 2000;         // of a call
  size_t max_bytes = 2u << 20;  // of a call; gRPC refuses messages beyond 4 MiB
  // Calls under way at a time. With 1 all changes take effect in the order in
  // which they were added, and the next call is filled while the switch works on
  // this one. With more, calls may overtake each other: only for changes that
  // are independent (no flow twice, no overlap at equal priority).
  int calls_in_flight = 1;
  // Called from Add and Finish for each change that failed; index counts the
  // changes added, from 0.
  std::function<void(uint64_t index, const absl::Status& error)> on_error;
};

// Many changes of flows, sent in batches as they come. Each change succeeds or
// fails by itself.
class FlowWriter {
 public:
  // The client outlives the writer.
  FlowWriter(Client& client, FlowWriterOptions options);
  // Waits for what is under way; what has not been sent is dropped.
  ~FlowWriter();

  // Waits while as many calls are under way as may be. An error is that of a
  // call that failed as a whole; nothing is sent after it.
  absl::Status Add(v1::BatchItem item);
  // Sends the rest and waits for all answers.
  absl::Status Finish();

  uint64_t succeeded() const;  // changes, so far
  uint64_t failed() const;     // changes, so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::client
