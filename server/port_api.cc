#include "server/port_api.h"

#include "server/convert.h"

namespace sluice {
namespace {

// The handlers' last step.
template <typename Response>
absl::Status Reply(const absl::StatusOr<PortInfo>& port, Response* response) {
  if (port.ok()) PortToProto(*port, response->mutable_port());
  return port.status();
}

}  // namespace

absl::StatusOr<uint32_t> NumberOf(const Dataplane& dataplane, const v1::PortKey& key, const Path& path) {
  switch (key.key_case()) {
    case v1::PortKey::kName:
      return dataplane.PortNumber(key.name());
    case v1::PortKey::kNumber:
      return key.number();
    case v1::PortKey::KEY_NOT_SET:
      break;
  }
  ViolationList violations;
  violations.Add(path, "names no port: set name or number");
  return violations.ToStatus();
}

absl::Status PortApi::CreatePort(const v1::CreatePortRequest& request, v1::CreatePortResponse* response) {
  ViolationList violations;
  PortConfig config;
  PortConfigFromProto(request.port(), Path("port"), violations, config);
  if (!violations.empty()) return violations.ToStatus();
  return Reply(dataplane_.AddPort(config), response);
}

absl::Status PortApi::GetPort(const v1::GetPortRequest& request, v1::GetPortResponse* response) {
  const absl::StatusOr<uint32_t> number = NumberOf(dataplane_, request.key(), Path("key"));
  if (!number.ok()) return number.status();
  return Reply(dataplane_.GetPort(*number), response);
}

absl::Status PortApi::UpdatePort(const v1::UpdatePortRequest& request, v1::UpdatePortResponse* response) {
  ViolationList violations;
  Dataplane::PortChange change;
  PortChangeFromProto(request, violations, change);
  if (!violations.empty()) return violations.ToStatus();
  const absl::StatusOr<uint32_t> number = NumberOf(dataplane_, request.key(), Path("key"));
  if (!number.ok()) return number.status();
  return Reply(dataplane_.UpdatePort(*number, change), response);
}

absl::Status PortApi::DeletePort(const v1::DeletePortRequest& request, v1::DeletePortResponse* response) {
  const absl::StatusOr<uint32_t> number = NumberOf(dataplane_, request.key(), Path("key"));
  if (!number.ok()) return number.status();
  return Reply(dataplane_.RemovePort(*number), response);
}

absl::Status PortApi::ListPorts(const v1::ListPortsRequest&, v1::ListPortsResponse* response) {
  for (const PortInfo& port : dataplane_.ListPorts()) PortToProto(port, response->add_ports());
  return absl::OkStatus();
}

}  // namespace sluice
