// Groups and meters as text: ovs-ofctl's words (add-group, add-meter).
//
//   group_id=1,type=select,selection_method=hash,fields(ip_src,ip_dst),bucket=weight:10,actions=output:1,bucket=...
//   meter=1,pktps,burst,stats,bands=type=drop,rate=1000,burst_size=100
//
// A bucket's options stand before its actions. Nothing is known of its packets, so
// its actions need no match: what a packet lacks is not written. What the switch
// prints is read again; counters among it are skipped. A meter that names no unit
// has kbps, as there.
//
// Errors are INVALID_ARGUMENT, "SOURCE:LINE:COLUMN: what; what was expected".
// No state; any thread.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/flow_text.h"
#include "sluice/v1/group_service.pb.h"
#include "sluice/v1/meter_service.pb.h"

namespace sluice::client {

// Of the options, `use` says nothing here.
absl::StatusOr<v1::GroupSpec> ParseGroup(absl::string_view text, const TextOptions& options);
absl::StatusOr<v1::MeterSpec> ParseMeter(absl::string_view text, const TextOptions& options);

// With the group's counters before it, `wide` with its buckets' as well.
std::string FormatGroup(const v1::Group& group, bool wide);
std::string FormatGroupSpec(const v1::GroupSpec& spec);
std::string FormatMeter(const v1::Meter& meter, bool wide);
std::string FormatMeterSpec(const v1::MeterSpec& spec);

}  // namespace sluice::client
