// What FlowService does, without gRPC: each call validates, calls the flow
// table, converts its answer.
//
// A write's `done` is called once, on the caller's thread before the call
// returns or, where counters of removed flows have to become final first, on
// the reclaimer's thread. Request and response must live until then.
//
// Any thread. Holds no state of its own between calls: page tokens carry theirs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "dataplane/flow/flow_table.h"
#include "server/convert.h"
#include "sluice/v1/flow_service.pb.h"

namespace sluice {

class FlowApi {
 public:
  using Done = std::function<void(const absl::Status&)>;

  // No reply is longer than this, gRPC's default limit being 4 MiB.
  static constexpr size_t kMaxReplyBytes = 3 << 20;
  static constexpr uint32_t kMaxPageSize = 10'000;
  static constexpr uint32_t kDefaultPageSize = 1'000;

  // The flow table outlives the API.
  FlowApi(FlowTable& flows, ApiLimits limits);

  void CreateFlow(const v1::CreateFlowRequest& request, v1::CreateFlowResponse* response, Done done);
  absl::Status GetFlow(const v1::GetFlowRequest& request, v1::GetFlowResponse* response);
  void UpdateFlow(const v1::UpdateFlowRequest& request, v1::UpdateFlowResponse* response, Done done);
  void DeleteFlow(const v1::DeleteFlowRequest& request, v1::DeleteFlowResponse* response, Done done);
  void DeleteMatchingFlows(const v1::DeleteMatchingFlowsRequest& request, v1::DeleteMatchingFlowsResponse* response,
                           Done done);
  absl::Status ListFlows(const v1::ListFlowsRequest& request, v1::ListFlowsResponse* response);
  void BatchWrite(const v1::BatchWriteRequest& request, v1::BatchWriteResponse* response, Done done);

 private:
  FlowChange CreateFrom(const v1::CreateFlowRequest& in, const Path* at) const;
  FlowChange UpdateFrom(const v1::UpdateFlowRequest& in, const Path* at) const;
  FlowChange DeleteFrom(const v1::DeleteFlowRequest& in, const Path* at) const;
  FlowChange ItemFrom(const v1::BatchItem& in, int index) const;

  FlowTable& flows_;
  const ApiLimits limits_;
  const uint64_t token_seed_;  // a token of another start of the switch is refused
};

// The status of a change with what a client needs to act on it: for
// ALREADY_EXISTS the flow that is in the way.
absl::Status StatusOf(const FlowChangeResult& result);

}  // namespace sluice
