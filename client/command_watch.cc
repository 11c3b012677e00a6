// sluicectl flow watch: what happens to flows, a line an event, until Ctrl-C.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli.h"
#include "client/output.h"

namespace sluice::client {
namespace {

// What the command's options are read into.
struct WatchArguments {
  std::string filter;
  std::string token;
  bool snapshot = false;
  uint64_t count = 0;
};

// The reason as users write it: "idle_timeout".
std::string ReasonName(v1::FlowRemovedReason reason) {
  constexpr size_t kPrefix = sizeof("FLOW_REMOVED_REASON_") - 1;
  const std::string& name = v1::FlowRemovedReason_Name(reason);
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix)) : absl::StrCat(static_cast<int>(reason));
}

std::string Line(const v1::FlowEvent& event, bool wide) {
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  const auto flow = [&](const v1::Flow& of) { return FormatFlow(of, wide, now); };
  switch (event.event_case()) {
    case v1::FlowEvent::kCurrent:
      return absl::StrCat("current   ", flow(event.current()));
    case v1::FlowEvent::kCreated:
      return absl::StrCat("created   ", flow(event.created()));
    case v1::FlowEvent::kModified:
      return absl::StrCat("modified  ", flow(event.modified()));
    case v1::FlowEvent::kRemoved:
      return absl::StrCat("removed   reason=", ReasonName(event.removed().reason()), ", ",
                          flow(event.removed().flow()));
    case v1::FlowEvent::kSynced:
      return "synced";
    case v1::FlowEvent::kMissed:
      return event.missed().count() == 0 ? "missed    events, since the switch was started anew"
                                         : absl::StrCat("missed    ", event.missed().count(), " events");
    case v1::FlowEvent::EVENT_NOT_SET:
      break;
  }
  return "an event that this sluicectl does not know";
}

int Watch(Cli& cli, const WatchArguments& arguments) {
  const absl::StatusOr<FlowText> filter = cli.ParseArgument(arguments.filter, TextUse::kSelect);
  if (!filter.ok()) return cli.Misused(filter.status());
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  v1::WatchFlowsRequest request;
  *request.mutable_filter() = ToFilter(*filter);
  request.set_send_current(arguments.snapshot);
  request.set_resume_token(arguments.token);
  uint64_t printed = 0;
  const absl::Status done = absl::CancelledError();
  const absl::Status status = (*client)->WatchFlows(request, [&](const v1::WatchFlowsResponse& message) {
    for (const v1::FlowEvent& event : message.events()) {
      std::cout << (cli.json() ? ToJson(event) : Line(event, cli.wide())) << "\n";
      if (++printed == arguments.count) return done;
    }
    std::cout.flush();
    return std::cout.good() ? absl::OkStatus() : done;
  });
  std::cout.flush();
  return status == done ? int{kOk} : cli.Fail(status);
}

}  // namespace

void AddWatchCommand(CLI::App& group, Cli& cli, Action& action) {
  const auto arguments = std::make_shared<WatchArguments>();
  CLI::App* watch = group.add_subcommand("watch", "Print what happens to flows, a line an event, until Ctrl-C");
  watch->add_option("FILTER", arguments->filter, "As for list");
  watch->add_flag("--snapshot", arguments->snapshot, "Begin with the flows that are there");
  watch->add_option("--count", arguments->count, "End after so many lines");
  watch->add_option("--resume", arguments->token, "Go on behind this resume_token");
  watch->callback([&action, &cli, arguments] { action = [&cli, arguments] { return Watch(cli, *arguments); }; });
}

}  // namespace sluice::client
