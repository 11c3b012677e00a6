#include "client/cli.h"

#include <iostream>

#include "absl/strings/str_cat.h"

namespace sluice::client {

absl::StatusOr<Client*> Cli::client() {
  if (client_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(address);
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
  }
  return client_.get();
}

int Cli::Fail(const absl::Status& status) const {
  if (absl::IsUnavailable(status)) {
    std::cerr << "sluicectl: cannot reach the switch at " << address << ": " << status.message() << "\n";
    return kUnreachable;
  }
  std::cerr << "sluicectl: " << absl::StatusCodeToString(status.code()) << ": " << status.message() << "\n";
  return kRequestFailed;
}

int Cli::Misused(const absl::Status& status) const {
  std::cerr << status.message() << "\n";
  if (!lookup_status_.ok()) std::cerr << "(port names are not known: " << lookup_status_.message() << ")\n";
  return kUsage;
}

int Cli::FailToWrite(const absl::Status& status) const {
  std::cerr << "sluicectl: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? kUsage : kRequestFailed;
}

std::function<std::optional<uint32_t>(absl::string_view)> Cli::PortNames() {
  return [this](absl::string_view name) -> std::optional<uint32_t> {
    if (ports_ == nullptr) {
      ports_ = std::make_unique<v1::ListPortsResponse>();
      absl::StatusOr<Client*> c = client();
      absl::StatusOr<v1::ListPortsResponse> ports = c.ok() ? (*c)->ListPorts() : c.status();
      if (ports.ok()) *ports_ = *std::move(ports);
      lookup_status_ = ports.status();
    }
    for (const v1::Port& port : ports_->ports()) {
      if (port.spec().name() == name) return port.spec().number();
    }
    return std::nullopt;
  };
}

absl::StatusOr<FlowText> Cli::ParseArgument(absl::string_view text, TextUse use, int number) {
  TextOptions options;
  options.use = use;
  options.source = "command line";
  options.line = number;
  options.port_names = PortNames();
  return ParseFlow(text, options);
}

}  // namespace sluice::client
