// sluicectl flow: add, add-file, get, list, modify, delete; watch stands in command_watch.cc.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "client/bulk_load.h"
#include "client/cli.h"
#include "client/output.h"

namespace sluice::client {
namespace {

constexpr uint64_t kMostErrors = 20;
constexpr uint64_t kProgressFrom = 10000;  // flows; fewer are loaded in no time

double Now() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

std::string Counted(uint64_t count, const char* what) {
  return absl::StrCat(count, " flow", count == 1 ? " " : "s ", what);
}

// Prints flows one by one as they come.
class FlowPrinter {
 public:
  explicit FlowPrinter(const Cli& cli) : cli_(cli) {
    if (!cli_.json()) return;
    std::cout << "{\"flows\": ";
    list_.Begin();
  }
  ~FlowPrinter() {
    if (!cli_.json()) return;
    list_.End();
    std::cout << "}\n";
  }
  void Print(const v1::Flow& flow) {
    if (cli_.json()) {
      list_.Add(ToJson(flow));
    } else {
      std::cout << FormatFlow(flow, cli_.wide(), Now()) << "\n";
    }
  }

 private:
  const Cli& cli_;
  JsonList list_{std::cout};
};

int Add(Cli& cli, const std::vector<std::string>& texts) {
  std::vector<v1::CreateFlowRequest> requests;
  for (const std::string& text : texts) {
    absl::StatusOr<FlowText> flow = cli.ParseArgument(text, TextUse::kFlow, static_cast<int>(requests.size()) + 1);
    if (!flow.ok()) return cli.Misused(flow.status());
    v1::CreateFlowRequest& request = requests.emplace_back();
    request.set_allow_existing(true);
    request.set_check_overlap(flow->check_overlap);
    *request.mutable_flow() = std::move(flow->spec);
  }
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  std::vector<v1::CreateFlowResponse> added;
  int code = kOk;
  for (const v1::CreateFlowRequest& request : requests) {
    absl::StatusOr<v1::CreateFlowResponse> response = (*client)->CreateFlow(request);
    if (response.ok()) {
      added.push_back(*std::move(response));
    } else {
      code = cli.Fail(response.status());
    }
  }
  if (cli.json()) {
    FlowPrinter printer(cli);
    for (const v1::CreateFlowResponse& response : added) printer.Print(response.flow());
    return code;
  }
  for (const v1::CreateFlowResponse& response : added) {
    std::cout << "flow " << response.flow().id() << (response.created() ? " added\n" : " replaced\n");
  }
  return code;
}

int AddFile(Cli& cli, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return cli.Misused(text.status());
  TextOptions options;
  options.port_names = cli.PortNames();
  BulkLoad load(path == "-" ? "standard input" : path, *text, options);
  if (absl::Status status = load.Check(); !status.ok()) return cli.Misused(status);
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const bool progress = load.flow_count() >= kProgressFrom && isatty(STDERR_FILENO) != 0;
  uint64_t errors = 0;
  const absl::StatusOr<LoadResult> result = load.Send(
      **client,
      [&](const std::string& error) {
        if (++errors <= kMostErrors) std::cerr << (progress ? "\r" : "") << error << "\n";
      },
      [&](uint64_t sent) {
        if (progress) std::cerr << "\r" << sent << " of " << load.flow_count() << " flows" << std::flush;
      });
  if (progress) std::cerr << "\n";
  if (!result.ok()) return cli.Fail(result.status());
  if (errors > kMostErrors) std::cerr << "and " << errors - kMostErrors << " more errors\n";
  if (cli.json()) {
    std::cout << JsonObject({{"loaded", absl::StrCat(result->loaded)}, {"failed", absl::StrCat(result->failed)}})
              << "\n";
  } else {
    std::cout << Counted(result->loaded, "loaded")
              << (result->failed > 0 ? absl::StrCat(", ", result->failed, " refused") : "") << "\n";
  }
  return result->failed > 0 ? kRequestFailed : kOk;
}

int Get(Cli& cli, const std::string& text) {
  v1::GetFlowRequest request;
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    uint64_t id = 0;
    if (!absl::SimpleAtoi(text, &id))
      return cli.Misused(absl::InvalidArgumentError(absl::StrCat(text, " is no flow's id")));
    request.mutable_key()->set_id(id);
  } else {
    const absl::StatusOr<FlowText> flow = cli.ParseArgument(text, TextUse::kSelect);
    if (!flow.ok()) return cli.Misused(flow.status());
    *request.mutable_key() = ToKey(*flow);
  }
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::GetFlowResponse> response = (*client)->GetFlow(request);
  if (!response.ok()) return cli.Fail(response.status());
  std::cout << (cli.json() ? ToJson(response->flow()) : FormatFlow(response->flow(), cli.wide(), Now())) << "\n";
  return kOk;
}

int List(Cli& cli, const std::string& text) {
  const absl::StatusOr<FlowText> filter = cli.ParseArgument(text, TextUse::kSelect);
  if (!filter.ok()) return cli.Misused(filter.status());
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  // Nothing is printed before the first page is there: an unreachable switch is
  // no empty list.
  std::unique_ptr<FlowPrinter> printer;
  const absl::Status status = (*client)->VisitFlows(ToFilter(*filter), [&](const v1::Flow& flow) {
    if (printer == nullptr) printer = std::make_unique<FlowPrinter>(cli);
    printer->Print(flow);
    return absl::OkStatus();
  });
  if (!status.ok()) return cli.Fail(status);
  if (printer == nullptr) printer = std::make_unique<FlowPrinter>(cli);
  return kOk;
}

int PrintModified(const Cli& cli, uint64_t count) {
  if (cli.json()) {
    std::cout << JsonObject({{"modified_count", absl::StrCat(count)}}) << "\n";
  } else {
    std::cout << Counted(count, "modified") << "\n";
  }
  return kOk;
}

// As ovs-ofctl: loosely, the priority selects nothing.
int ModifyLoosely(Cli& cli, Client& client, FlowText& text, const v1::UpdateFlowRequest& change) {
  text.has_priority = false;
  if (!text.cookie_match) text.has_cookie = false;  // it is the new one
  std::vector<uint64_t> ids;
  absl::Status status = client.VisitFlows(ToFilter(text), [&](const v1::Flow& flow) {
    ids.push_back(flow.id());
    return absl::OkStatus();
  });
  if (!status.ok()) return cli.Fail(status);
  FlowWriterOptions options;
  options.on_error = [&](uint64_t, const absl::Status& error) {
    // What somebody else removed meanwhile needs no change.
    if (!absl::IsNotFound(error)) status = error;
  };
  FlowWriter writer(client, options);
  for (const uint64_t id : ids) {
    v1::BatchItem item;
    *item.mutable_update() = change;
    item.mutable_update()->mutable_key()->set_id(id);
    if (!writer.Add(std::move(item)).ok()) break;
  }
  if (absl::Status finished = writer.Finish(); !finished.ok()) return cli.Fail(finished);
  if (!status.ok()) return cli.Fail(status);
  return PrintModified(cli, writer.succeeded());
}

int Modify(Cli& cli, const std::string& text, bool strict) {
  absl::StatusOr<FlowText> flow = cli.ParseArgument(text, TextUse::kChange);
  if (!flow.ok()) return cli.Misused(flow.status());
  v1::UpdateFlowRequest request;
  *request.mutable_actions() = flow->spec.actions();
  if (flow->has_cookie) request.set_cookie(flow->spec.cookie());
  request.set_reset_stats(flow->reset_counts);
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  if (!strict) return ModifyLoosely(cli, **client, *flow, request);
  *request.mutable_key() = ToKey(*flow);
  const absl::StatusOr<v1::UpdateFlowResponse> response = (*client)->UpdateFlow(request);
  return response.ok() ? PrintModified(cli, 1) : cli.Fail(response.status());
}

int Delete(Cli& cli, const std::string& text, bool strict) {
  const absl::StatusOr<FlowText> flow = cli.ParseArgument(text, TextUse::kSelect);
  if (!flow.ok()) return cli.Misused(flow.status());
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  v1::DeleteMatchingFlowsResponse deleted;
  if (strict) {
    v1::DeleteFlowRequest request;
    *request.mutable_key() = ToKey(*flow);
    absl::StatusOr<v1::DeleteFlowResponse> response = (*client)->DeleteFlow(request);
    if (!response.ok()) return cli.Fail(response.status());
    deleted.set_deleted_count(1);
    *deleted.mutable_stats() = response->flow().stats();
  } else {
    v1::DeleteMatchingFlowsRequest request;
    *request.mutable_filter() = ToFilter(*flow);
    absl::StatusOr<v1::DeleteMatchingFlowsResponse> response = (*client)->DeleteMatchingFlows(request);
    if (!response.ok()) return cli.Fail(response.status());
    deleted = *std::move(response);
  }
  if (cli.json()) {
    std::cout << ToJson(deleted) << "\n";
  } else {
    std::cout << Counted(deleted.deleted_count(), "deleted") << "; they had counted " << deleted.stats().packets()
              << " packets, " << deleted.stats().bytes() << " bytes\n";
  }
  return kOk;
}

// What the commands' options are read into.
struct FlowArguments {
  std::vector<std::string> flows;
  std::string flow;
  std::string file;
  bool strict = false;
};

}  // namespace

void AddFlowCommands(CLI::App& app, Cli& cli, Action& action) {
  const auto arguments = std::make_shared<FlowArguments>();
  CLI::App* group = app.add_subcommand("flow", "Flows: add, read, change, remove");
  group->require_subcommand(1);
  const auto command = [&](const char* name, const char* help, const std::function<int()>& run) {
    CLI::App* sub = group->add_subcommand(name, help);
    sub->callback([&action, run] { action = run; });
    return sub;
  };

  CLI::App* add = command("add", "Add flows, or replace the actions of those that exist",
                          [&cli, arguments] { return Add(cli, arguments->flows); });
  add->add_option("FLOW", arguments->flows, "As ovs-ofctl's: priority=10,tcp,in_port=1,tp_dst=80,actions=output:2")
      ->required();

  CLI::App* add_file = command("add-file", "Add the flows of a file, one a line; of equal ones the last wins",
                               [&cli, arguments] { return AddFile(cli, arguments->file); });
  add_file->add_option("FILE", arguments->file, "The file; - is standard input")->required();

  CLI::App* get = command("get", "Show a flow", [&cli, arguments] { return Get(cli, arguments->flow); });
  get->add_option("ID|FLOW", arguments->flow, "Its id, or table, priority and match")->required();

  CLI::App* list = command("list", "List flows, as flow add-file reads them",
                           [&cli, arguments] { return List(cli, arguments->flow); });
  list->add_option("FILTER", arguments->flow,
                   "Those at least as narrow as this match; table=, priority=, cookie=VALUE[/MASK] and out_port= too");

  CLI::App* modify = command("modify", "Change the actions, and the cookie if given, of flows that match",
                             [&cli, arguments] { return Modify(cli, arguments->flow, arguments->strict); });
  modify->add_option("FLOW", arguments->flow, "A match (the priority counts with --strict only) and actions=")
      ->required();
  modify->add_flag("--strict", arguments->strict, "Exactly this flow: its table, priority and match");

  CLI::App* remove = command("delete", "Remove flows; without FILTER all of them",
                             [&cli, arguments] { return Delete(cli, arguments->flow, arguments->strict); });
  remove->add_option("FILTER", arguments->flow, "As for list");
  remove->add_flag("--strict", arguments->strict, "Exactly this flow: its table, priority and match");

  AddLintCommand(*group, cli, action);
  AddWatchCommand(*group, cli, action);
}

}  // namespace sluice::client
