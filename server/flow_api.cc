#include "server/flow_api.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/batch_reply.h"
#include "server/page_token.h"
#include "server/status.h"

namespace sluice {
namespace {

// Flows copied out under the table's lock at a time.
constexpr size_t kListChunk = 512;

uint64_t RandomSeed() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}

// The one result of a single change.
using OnResult = std::function<void(const FlowInfo& flow, bool created)>;
void WriteOne(FlowTable& flows, FlowChange change, OnResult on_success, FlowApi::Done done) {
  if (const auto* refused = std::get_if<absl::Status>(&change)) return done(*refused);
  flows.Write({&change, 1}, BatchMode::kPerItem, /*validate_only=*/false,
              [on_success = std::move(on_success), done = std::move(done)](std::vector<FlowChangeResult> results) {
                const FlowChangeResult& result = results.front();
                if (result.status.ok()) on_success(result.flow, result.created);
                done(StatusOf(result));
              });
}

absl::Status CheckMode(v1::BatchMode in, BatchMode& out) {
  switch (in) {
    case v1::BATCH_MODE_UNSPECIFIED:
    case v1::BATCH_MODE_PER_ITEM:
      out = BatchMode::kPerItem;
      return absl::OkStatus();
    case v1::BATCH_MODE_ALL_OR_NOTHING:
      out = BatchMode::kAllOrNothing;
      return absl::OkStatus();
    default:
      break;
  }
  ViolationList violations;
  violations.Add(Path("mode"), absl::StrCat("unknown mode ", static_cast<int>(in),
                                            ": BATCH_MODE_PER_ITEM or BATCH_MODE_ALL_OR_NOTHING"));
  return violations.ToStatus();
}

}  // namespace

absl::Status StatusOf(const FlowChangeResult& result) {
  if (result.status.ok() || result.other_id == 0) return result.status;
  absl::Status status = result.status;
  google::rpc::ResourceInfo other;
  other.set_resource_type(v1::Flow::descriptor()->full_name());
  other.set_resource_name(absl::StrCat(result.other_id));
  other.set_description("the flow that is in the way, by its id");
  AddDetail(status, other);
  return status;
}

FlowApi::FlowApi(FlowTable& flows, ApiLimits limits) : flows_(flows), limits_(limits), token_seed_(RandomSeed()) {}

FlowChange FlowApi::CreateFrom(const v1::CreateFlowRequest& in, const Path* at) const {
  ViolationList violations;
  struct CreateFlow change;
  const Path path(at, "flow");
  if (!in.has_flow()) violations.Add(path, "no flow given");
  FlowSpecFromProto(in.flow(), limits_, path, violations, change.spec);
  if (!violations.empty()) return violations.ToStatus();
  change.allow_existing = in.allow_existing();
  change.check_overlap = in.check_overlap();
  return change;
}

FlowChange FlowApi::UpdateFrom(const v1::UpdateFlowRequest& in, const Path* at) const {
  ViolationList violations;
  struct UpdateFlow change;
  KnownHeaders headers;
  int table_id = kAnyTable;
  FlowKeyFromProto(in.key(), Path(at, "key"), violations, change.key);
  if (!violations.empty()) {
    headers.anything = true;
  } else if (const auto* identity = std::get_if<FlowIdentity>(&change.key)) {
    headers = HeadersOf(identity->match);
    table_id = identity->table_id;
  } else {
    // An id is never used again, so the match that is read here stays right.
    const absl::StatusOr<FlowInfo> flow = flows_.Get(change.key);
    if (!flow.ok()) return flow.status();
    headers = HeadersOf(flow->spec.match);
    table_id = flow->spec.table_id;
  }
  ActionsFromProto(in.actions(), headers, table_id, limits_.actions_per_flow, at, violations, change.actions);
  if (in.has_idle_timeout()) {
    TimeoutFromProto(in.idle_timeout(), Path(at, "idle_timeout"), violations, change.idle_timeout.emplace());
  }
  if (in.has_hard_timeout()) {
    TimeoutFromProto(in.hard_timeout(), Path(at, "hard_timeout"), violations, change.hard_timeout.emplace());
  }
  if (!violations.empty()) return violations.ToStatus();
  if (in.has_cookie()) change.cookie = in.cookie();
  change.reset_stats = in.reset_stats();
  return change;
}

FlowChange FlowApi::DeleteFrom(const v1::DeleteFlowRequest& in, const Path* at) const {
  ViolationList violations;
  struct DeleteFlow change;
  FlowKeyFromProto(in.key(), Path(at, "key"), violations, change.key);
  if (!violations.empty()) return violations.ToStatus();
  return change;
}

FlowChange FlowApi::ItemFrom(const v1::BatchItem& in, int index) const {
  const Path item("items", index);
  switch (in.item_case()) {
    case v1::BatchItem::kCreate: {
      const Path at(item, "create");
      return CreateFrom(in.create(), &at);
    }
    case v1::BatchItem::kUpdate: {
      const Path at(item, "update");
      return UpdateFrom(in.update(), &at);
    }
    case v1::BatchItem::kDelete: {
      const Path at(item, "delete");
      return DeleteFrom(in.delete_(), &at);
    }
    case v1::BatchItem::ITEM_NOT_SET:
      break;
  }
  ViolationList violations;
  violations.Add(item, "an empty item: one of create, update, delete");
  return violations.ToStatus();
}

void FlowApi::CreateFlow(const v1::CreateFlowRequest& request, v1::CreateFlowResponse* response, Done done) {
  WriteOne(
      flows_, CreateFrom(request, nullptr),
      [response](const FlowInfo& flow, bool created) {
        FlowToProto(flow, response->mutable_flow());
        response->set_created(created);
      },
      std::move(done));
}

absl::Status FlowApi::GetFlow(const v1::GetFlowRequest& request, v1::GetFlowResponse* response) {
  ViolationList violations;
  FlowKey key;
  FlowKeyFromProto(request.key(), Path("key"), violations, key);
  if (!violations.empty()) return violations.ToStatus();
  const absl::StatusOr<FlowInfo> flow = flows_.Get(key);
  if (flow.ok()) FlowToProto(*flow, response->mutable_flow());
  return flow.status();
}

void FlowApi::UpdateFlow(const v1::UpdateFlowRequest& request, v1::UpdateFlowResponse* response, Done done) {
  WriteOne(
      flows_, UpdateFrom(request, nullptr),
      [response](const FlowInfo& flow, bool) { FlowToProto(flow, response->mutable_flow()); }, std::move(done));
}

void FlowApi::DeleteFlow(const v1::DeleteFlowRequest& request, v1::DeleteFlowResponse* response, Done done) {
  WriteOne(
      flows_, DeleteFrom(request, nullptr),
      [response](const FlowInfo& flow, bool) { FlowToProto(flow, response->mutable_flow()); }, std::move(done));
}

void FlowApi::DeleteMatchingFlows(const v1::DeleteMatchingFlowsRequest& request,
                                  v1::DeleteMatchingFlowsResponse* response, Done done) {
  ViolationList violations;
  FlowFilter filter;
  FlowFilterFromProto(request.filter(), Path("filter"), violations, filter);
  if (!violations.empty()) return done(violations.ToStatus());
  flows_.DeleteMatching(filter, [response, done = std::move(done)](const FlowTable::DeletedSum& sum) {
    response->set_deleted_count(sum.count);
    FlowStatsToProto(sum.stats, response->mutable_stats());
    done(absl::OkStatus());
  });
}

absl::Status FlowApi::ListFlows(const v1::ListFlowsRequest& request, v1::ListFlowsResponse* response) {
  ViolationList violations;
  FlowFilter filter;
  FlowFilterFromProto(request.filter(), Path("filter"), violations, filter);
  if (request.page_size() > kMaxPageSize) {
    violations.Add(Path("page_size"), absl::StrCat(request.page_size(), " flows are too many for a page: 1 to ",
                                                   kMaxPageSize, ", or 0 for ", kDefaultPageSize));
  }
  if (!violations.empty()) return violations.ToStatus();
  uint64_t after = 0;
  if (!ReadPageToken(request.page_token(), token_seed_, filter, after)) {
    violations.Add(Path("page_token"),
                   "not a token for this filter: take next_page_token of the page before, with the same filter, "
                   "from the same start of the switch; empty begins anew");
    return violations.ToStatus();
  }

  const size_t page_size = request.page_size() == 0 ? kDefaultPageSize : request.page_size();
  size_t bytes = 0;
  for (;;) {
    // One more than fits shows whether there is a next page.
    const size_t want = std::min(kListChunk, page_size + 1 - response->flows_size());
    const std::vector<FlowInfo> flows = flows_.List(filter, after, want);
    for (const FlowInfo& flow : flows) {
      v1::Flow* out = response->add_flows();
      FlowToProto(flow, out);
      bytes += out->ByteSizeLong() + 8;
      if (static_cast<size_t>(response->flows_size()) > page_size || bytes > kMaxReplyBytes) {
        response->mutable_flows()->RemoveLast();
        response->set_next_page_token(MakePageToken(token_seed_, filter, after));
        return absl::OkStatus();
      }
      after = flow.id;
    }
    if (flows.size() < want) return absl::OkStatus();
  }
}

void FlowApi::BatchWrite(const v1::BatchWriteRequest& request, v1::BatchWriteResponse* response, Done done) {
  if (static_cast<uint32_t>(request.items_size()) > limits_.batch_items) {
    ViolationList violations;
    violations.Add(Path("items"),
                   absl::StrCat(request.items_size(), " items; at most ", limits_.batch_items,
                                " (limits.batch_items); nothing was changed"),
                   ViolationList::Kind::kLimit);
    return done(violations.ToStatus());
  }
  BatchMode mode{};
  if (absl::Status status = CheckMode(request.mode(), mode); !status.ok()) return done(status);
  std::vector<FlowChange> changes;
  changes.reserve(request.items_size());
  for (int i = 0; i < request.items_size(); ++i) changes.push_back(ItemFrom(request.items(i), i));
  flows_.Write(changes, mode, request.validate_only(),
               [&request, response, mode, done = std::move(done)](const std::vector<FlowChangeResult>& results) {
                 done(BatchReply(request, mode, results, response));
               });
}

}  // namespace sluice
