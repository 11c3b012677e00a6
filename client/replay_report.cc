// What a replay found, as flows.json.

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/flow_text.h"
#include "client/flow_text_value.h"
#include "client/output.h"
#include "client/replay.h"

namespace sluice::client {
namespace {

std::string FlowJson(const v1::Flow& flow) {
  v1::FlowSpec spec = flow.spec();
  spec.clear_cookie();  // it has a member of its own
  return JsonObject({{"table", absl::StrCat(spec.table_id())},
                     {"cookie", JsonString(Hex(flow.spec().cookie()))},
                     {"priority", absl::StrCat(spec.priority())},
                     {"flow", JsonString(FormatSpec(spec))},
                     {"packets", absl::StrCat(flow.stats().packets())},
                     {"bytes", absl::StrCat(flow.stats().bytes())}});
}

// [[packets, bytes], …]
template <typename AllStats>
std::string CountsJson(const AllStats& all) {
  std::vector<std::string> counts;
  for (const auto& stats : all) counts.push_back(absl::StrCat("[", stats.packets(), ", ", stats.bytes(), "]"));
  return absl::StrCat("[", absl::StrJoin(counts, ", "), "]");
}

std::string GroupJson(const v1::Group& group) {
  return JsonObject({{"group_id", absl::StrCat(group.spec().group_id())},
                     {"group", JsonString(FormatGroupSpec(group.spec()))},
                     {"packets", absl::StrCat(group.stats().packets())},
                     {"bytes", absl::StrCat(group.stats().bytes())},
                     {"buckets", CountsJson(group.bucket_stats())}});
}

std::string MeterJson(const v1::Meter& meter) {
  return JsonObject({{"meter_id", absl::StrCat(meter.spec().meter_id())},
                     {"meter", JsonString(FormatMeterSpec(meter.spec()))},
                     {"packets", absl::StrCat(meter.stats().packets())},
                     {"bytes", absl::StrCat(meter.stats().bytes())},
                     {"bands", CountsJson(meter.band_stats())}});
}

}  // namespace

std::string ReplayJson(const ReplayResult& result) {
  std::vector<std::string> flows, drops;
  for (const v1::Flow& flow : result.flows) flows.push_back(absl::StrCat("  ", FlowJson(flow)));
  uint64_t misses = 0;
  for (const auto& [reason, count] :
       std::map<std::string, uint64_t>(result.totals.drops().begin(), result.totals.drops().end())) {
    if (reason == "no_flow") misses = count;
    drops.push_back(absl::StrCat(JsonString(reason), ": ", count));
  }
  std::vector<std::string> groups, meters;
  for (const v1::Group& group : result.groups) groups.push_back(absl::StrCat("  ", GroupJson(group)));
  for (const v1::Meter& meter : result.meters) meters.push_back(absl::StrCat("  ", MeterJson(meter)));
  return absl::StrCat("{\"flows\": [\n", absl::StrJoin(flows, ",\n"), "\n], \"groups\": [\n",
                      absl::StrJoin(groups, ",\n"), "\n], \"meters\": [\n", absl::StrJoin(meters, ",\n"),
                      "\n], \"misses\": ", misses, ", \"malformed\": ", result.totals.malformed(), ", \"drops\": {",
                      absl::StrJoin(drops, ", "), "}}\n");
}

}  // namespace sluice::client
