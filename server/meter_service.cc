#include "server/meter_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "server/task_thread.h"
#include "sluice/v1/meter_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class MeterService final : public v1::MeterService::CallbackService {
 public:
  MeterService(MeterApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* CreateMeter(CallbackServerContext* context, const v1::CreateMeterRequest* request,
                                  v1::CreateMeterResponse* response) override {
    return Run(context, Method::kCreateMeter, &MeterApi::CreateMeter, request, response);
  }
  ServerUnaryReactor* GetMeter(CallbackServerContext* context, const v1::GetMeterRequest* request,
                               v1::GetMeterResponse* response) override {
    return Run(context, Method::kGetMeter, &MeterApi::GetMeter, request, response);
  }
  ServerUnaryReactor* UpdateMeter(CallbackServerContext* context, const v1::UpdateMeterRequest* request,
                                  v1::UpdateMeterResponse* response) override {
    return Run(context, Method::kUpdateMeter, &MeterApi::UpdateMeter, request, response);
  }
  ServerUnaryReactor* DeleteMeter(CallbackServerContext* context, const v1::DeleteMeterRequest* request,
                                  v1::DeleteMeterResponse* response) override {
    return Run(context, Method::kDeleteMeter, &MeterApi::DeleteMeter, request, response);
  }
  ServerUnaryReactor* ListMeters(CallbackServerContext* context, const v1::ListMetersRequest* request,
                                 v1::ListMetersResponse* response) override {
    return Run(context, Method::kListMeters, &MeterApi::ListMeters, request, response);
  }

 private:
  template <typename Request, typename Response>
  ServerUnaryReactor* Run(CallbackServerContext* context, Method method,
                          absl::Status (MeterApi::*handler)(const Request&, Response*), const Request* request,
                          Response* response) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    thread_.Post([this, reactor, method, handler, request, response] {
      Reply(reactor, requests_, method, (api_.*handler)(*request, response));
    });
    return reactor;
  }

  MeterApi& api_;
  RequestCounters& requests_;
  TaskThread thread_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMeterService(MeterApi& api, RequestCounters& requests) {
  return std::make_unique<MeterService>(api, requests);
}

}  // namespace sluice
