#include "server/flow_service.h"

#include <google/protobuf/arena.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/message_allocator.h>

#include "server/common_service.h"
#include "sluice/v1/flow_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// A watcher's stream; deletes itself when gRPC is done with it.
class WatchStream final : public grpc::ServerWriteReactor<v1::WatchFlowsResponse>, public WatchSink {
 public:
  WatchStream(FlowWatches& watches, RequestCounters& requests) : watches_(watches), requests_(requests) {}

  void Start(const v1::WatchFlowsRequest& request) {
    if (absl::Status status = watches_.Open(request, this); !status.ok()) Finish(status);
  }

  void Write(const v1::WatchFlowsResponse& message) override { StartWrite(&message); }
  void Finish(const absl::Status& status) override {
    requests_.Count(Method::kWatchFlows, status.code());
    ServerWriteReactor::Finish(ToGrpc(status));
  }
  void OnWriteDone(bool ok) override { watches_.WriteDone(this, ok); }
  void OnCancel() override { watches_.Cancel(this); }
  void OnDone() override { delete this; }

 private:
  FlowWatches& watches_;
  RequestCounters& requests_;
};

// A batch has tens of thousands of messages, which come and go as one: on an arena a flow's cost a few
// additions, not as many allocations and releases, which were half of what a batch cost.
class BatchMessages final : public grpc::MessageHolder<v1::BatchWriteRequest, v1::BatchWriteResponse> {
 public:
  BatchMessages() : arena_(Options()) {
    set_request(google::protobuf::Arena::CreateMessage<v1::BatchWriteRequest>(&arena_));
    set_response(google::protobuf::Arena::CreateMessage<v1::BatchWriteResponse>(&arena_));
  }
  void Release() override { delete this; }

 private:
  static google::protobuf::ArenaOptions Options() {
    google::protobuf::ArenaOptions options;
    options.max_block_size = size_t{64} << 10;
    return options;
  }

  google::protobuf::Arena arena_;
};

class BatchAllocator final : public grpc::MessageAllocator<v1::BatchWriteRequest, v1::BatchWriteResponse> {
 public:
  grpc::MessageHolder<v1::BatchWriteRequest, v1::BatchWriteResponse>* AllocateMessages() override {
    return new BatchMessages;
  }
};

class FlowService final : public v1::FlowService::CallbackService {
 public:
  FlowService(FlowApi& api, FlowWatches& watches, RequestCounters& requests)
      : api_(api), watches_(watches), requests_(requests) {
    SetMessageAllocatorFor_BatchWrite(&batches_);
  }

  ServerUnaryReactor* CreateFlow(CallbackServerContext* context, const v1::CreateFlowRequest* request,
                                 v1::CreateFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.CreateFlow(*request, response, ReplyLater(reactor, requests_, Method::kCreateFlow));
    return reactor;
  }

  ServerUnaryReactor* GetFlow(CallbackServerContext* context, const v1::GetFlowRequest* request,
                              v1::GetFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kGetFlow, api_.GetFlow(*request, response));
    return reactor;
  }

  ServerUnaryReactor* UpdateFlow(CallbackServerContext* context, const v1::UpdateFlowRequest* request,
                                 v1::UpdateFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.UpdateFlow(*request, response, ReplyLater(reactor, requests_, Method::kUpdateFlow));
    return reactor;
  }

  ServerUnaryReactor* DeleteFlow(CallbackServerContext* context, const v1::DeleteFlowRequest* request,
                                 v1::DeleteFlowResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.DeleteFlow(*request, response, ReplyLater(reactor, requests_, Method::kDeleteFlow));
    return reactor;
  }

  ServerUnaryReactor* DeleteMatchingFlows(CallbackServerContext* context, const v1::DeleteMatchingFlowsRequest* request,
                                          v1::DeleteMatchingFlowsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.DeleteMatchingFlows(*request, response, ReplyLater(reactor, requests_, Method::kDeleteMatchingFlows));
    return reactor;
  }

  ServerUnaryReactor* ListFlows(CallbackServerContext* context, const v1::ListFlowsRequest* request,
                                v1::ListFlowsResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kListFlows, api_.ListFlows(*request, response));
    return reactor;
  }

  ServerUnaryReactor* BatchWrite(CallbackServerContext* context, const v1::BatchWriteRequest* request,
                                 v1::BatchWriteResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    api_.BatchWrite(*request, response, ReplyLater(reactor, requests_, Method::kBatchWrite));
    return reactor;
  }

  grpc::ServerWriteReactor<v1::WatchFlowsResponse>* WatchFlows(CallbackServerContext*,
                                                               const v1::WatchFlowsRequest* request) override {
    auto* stream = new WatchStream(watches_, requests_);
    stream->Start(*request);
    return stream;
  }

 private:
  FlowApi& api_;
  FlowWatches& watches_;
  RequestCounters& requests_;
  BatchAllocator batches_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFlowService(FlowApi& api, FlowWatches& watches, RequestCounters& requests) {
  return std::make_unique<FlowService>(api, watches, requests);
}

}  // namespace sluice
