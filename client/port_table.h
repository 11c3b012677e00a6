// Ports and drop reasons as people read them, on standard output. One thread.

#pragma once

#include <google/protobuf/map.h>

#include <string>

#include "sluice/v1/port_service.pb.h"

namespace sluice::client {

// A port's number, if the text is one, else its name.
v1::PortKey PortKeyOf(const std::string& text);

void PrintPorts(const v1::ListPortsResponse& ports, bool wide);

// "no_flow 3, ttl 1", without zeros; "-" if there is nothing else.
std::string FormatReasons(const google::protobuf::Map<std::string, uint64_t>& reasons);

}  // namespace sluice::client
