#include "server/table_service.h"

#include <grpcpp/grpcpp.h>

#include "server/common_service.h"
#include "sluice/v1/table_service.grpc.pb.h"

namespace sluice {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class TableService final : public v1::TableService::CallbackService {
 public:
  TableService(SwitchApi& api, RequestCounters& requests) : api_(api), requests_(requests) {}

  ServerUnaryReactor* ListTables(CallbackServerContext* context, const v1::ListTablesRequest* request,
                                 v1::ListTablesResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kListTables, api_.ListTables(*request, response));
    return reactor;
  }

  ServerUnaryReactor* UpdateTable(CallbackServerContext* context, const v1::UpdateTableRequest* request,
                                  v1::UpdateTableResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kUpdateTable, api_.UpdateTable(*request, response));
    return reactor;
  }

  ServerUnaryReactor* ListMasks(CallbackServerContext* context, const v1::ListMasksRequest* request,
                                v1::ListMasksResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kListMasks, api_.ListMasks(*request, response));
    return reactor;
  }

  ServerUnaryReactor* ResortMasks(CallbackServerContext* context, const v1::ResortMasksRequest* request,
                                  v1::ResortMasksResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    Reply(reactor, requests_, Method::kResortMasks, api_.ResortMasks(*request, response));
    return reactor;
  }

 private:
  SwitchApi& api_;
  RequestCounters& requests_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTableService(SwitchApi& api, RequestCounters& requests) {
  return std::make_unique<TableService>(api, requests);
}

}  // namespace sluice
