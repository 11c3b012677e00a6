// The API as a whole: all services, health and reflection, on all addresses.
//
// Health says SERVING under "" and each service's name from SetServing(true)
// on. Not TLS: TCP is for loopback and trusted networks; who may use a UNIX
// socket is a matter of its file (mode 0660, the daemon's user and group).
//
// One thread starts, shuts down and destroys it.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/capture_api.h"
#include "server/flow_api.h"
#include "server/flow_watches.h"
#include "server/group_api.h"
#include "server/mac_api.h"
#include "server/meter_api.h"
#include "server/packet_api.h"
#include "server/port_api.h"
#include "server/request_counters.h"
#include "server/switch_api.h"
#include "server/trace_api.h"

namespace sluice {

class ApiServer {
 public:
  // What the services call; outlives the server.
  struct Apis {
    FlowApi& flows;
    PortApi& ports;
    SwitchApi& switch_api;
    MacApi& macs;
    PacketApi& packets;
    TraceApi& trace;
    RequestCounters& requests;
    FlowWatches& watches;
    GroupApi& groups;
    MeterApi& meters;
    CaptureApi& captures;
  };

  // Listens on all addresses, or on none. FAILED_PRECONDITION says which
  // cannot be listened on, and why. Requests of up to max_request_bytes are
  // read; gRPC itself answers longer ones with RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<ApiServer>> Start(const std::vector<std::string>& listen,
                                                          size_t max_request_bytes, const Apis& apis);
  // Shuts down at once.
  ~ApiServer();

  // Where it listens: as given, with the port that was chosen for port 0.
  const std::vector<std::string>& addresses() const;
  void SetServing(bool serving);
  // Takes no further calls, ends the watches, gives those that run `grace` to end, then cancels
  // them; returns when all have ended.
  void Shutdown(absl::Duration grace);

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The longest request that stays within the limits: a batch of flows with the
// longest matches and actions.
size_t MaxRequestBytes(const ApiLimits& limits);

}  // namespace sluice
