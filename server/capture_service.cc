#include "server/capture_service.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "server/stream_service.h"
#include "server/task_thread.h"
#include "sluice/v1/capture_service.grpc.pb.h"

namespace sluice {
namespace {

using CaptureStream = QueueStream<CaptureClient, v1::CaptureResponse>;

class CaptureService final : public v1::CaptureService::CallbackService {
 public:
  CaptureService(CaptureApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  grpc::ServerWriteReactor<v1::CaptureResponse>* Capture(grpc::CallbackServerContext*,
                                                         const v1::CaptureRequest* request) override {
    const auto stream = CaptureStream::New(
        Method::kCapture, requests_, [this](const std::shared_ptr<CaptureClient>& client) { api_.Leave(client); });
    thread_.Post([this, stream, request = *request] {
      stream->Start([&](std::function<void()> ready) { return api_.Start(request, std::move(ready)); });
    });
    return stream.get();
  }

 private:
  CaptureApi& api_;
  RequestCounters& requests_;
  TaskThread thread_;  // waits for workers
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCaptureService(CaptureApi& api, RequestCounters& requests) {
  return std::make_unique<CaptureService>(api, requests);
}

}  // namespace sluice
