// Plays captures through a real switch: a sluiced of our own, without root and
// huge pages, with capture files as its ports and one worker. The captures are
// played one after another, each to its end: frames received = frames in the
// file, and every one of them accounted for, before the next begins.
//
// A port that receives two captures is taken away and added again in between,
// as no other port may receive meanwhile; what it sent is joined.
//
// One thread. The child ends with the call, whatever happens.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/capture.h"
#include "client/group_text.h"
#include "sluice/v1/flow.pb.h"
#include "sluice/v1/switch_service.pb.h"

namespace sluice::client {

class BulkLoad;

struct ReplayInput {
  uint32_t port = 0;
  std::string path;
  CaptureInfo capture;
};

struct ReplayOptions {
  std::string daemon;  // path of sluiced
  std::vector<ReplayInput> inputs;
  uint32_t ports = 0;  // 1 to this
  std::string out_dir;
  uint32_t rx_burst = 0;  // 0: the switch's default
  std::vector<v1::GroupSpec> groups;
  std::vector<v1::MeterSpec> meters;
  v1::UpdateSettingsRequest settings;  // other than the switch's defaults
  std::function<bool()> interrupted;   // asked now and then
};

struct ReplayResult {
  std::vector<v1::Flow> flows;    // with final counters, by id
  std::vector<v1::Group> groups;  // likewise
  std::vector<v1::Meter> meters;  // likewise
  v1::PacketTotals totals;
};

// "PORT=FILE". Reads the file.
absl::StatusOr<ReplayInput> ParseReplayInput(const std::string& text);

// Loads the flows, plays the inputs and writes out_dir/port-<n>.pcap for every
// port, and out_dir/flows.json. DATA_LOSS if a packet is not accounted for or
// was lost on its way into a file.
absl::StatusOr<ReplayResult> Replay(const ReplayOptions& options, BulkLoad& flows);

// received = frames in the files, and received = forwarded + drops; else
// DATA_LOSS with the figures.
absl::Status CheckConservation(const v1::PacketTotals& totals, uint64_t frames);

// flows.json: flows, groups and meters with counters, misses, malformed, drops by reason.
std::string ReplayJson(const ReplayResult& result);

}  // namespace sluice::client
