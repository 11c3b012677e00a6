// sluicectl flow lint: what is wrong with the switch's flows, or with those of a file.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "client/bulk_load.h"
#include "client/cli.h"
#include "client/lint.h"
#include "client/output.h"

namespace sluice::client {
namespace {

constexpr size_t kUsualOverlaps = 1000;

// The flows, oldest first, and where each stands: "flow 17", "line 3".
struct LintInput {
  std::vector<v1::FlowSpec> flows;
  std::vector<std::string> places;
  std::vector<v1::Table> tables;
};

absl::Status ReadSwitch(Cli& cli, LintInput& input) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return client.status();
  // By ascending id, which is by age.
  const absl::Status status = (*client)->VisitFlows({}, [&](const v1::Flow& flow) {
    input.flows.push_back(flow.spec());
    input.places.push_back(absl::StrCat("flow ", flow.id()));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  const absl::StatusOr<v1::ListTablesResponse> tables = (*client)->ListTables();
  if (!tables.ok()) return tables.status();
  input.tables = {tables->tables().begin(), tables->tables().end()};
  return absl::OkStatus();
}

// A file's line that says a flow again replaces its actions and not its age, as flow add-file does.
absl::Status ReadFile(Cli& cli, const std::string& path, LintInput& input) {
  const absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  TextOptions options;
  options.source = path == "-" ? absl::string_view("standard input") : path;
  options.port_names = cli.PortNames();
  absl::flat_hash_map<std::string, size_t> known;
  return ForEachFlowLine(*text, [&](absl::string_view line, int number) {
    options.line = number;
    absl::StatusOr<FlowText> flow = ParseFlow(line, options);
    if (!flow.ok()) return flow.status();
    const auto [it, is_new] = known.try_emplace(ToKey(*flow).SerializeAsString(), input.flows.size());
    if (is_new) {
      input.flows.push_back(std::move(flow->spec));
      input.places.push_back(absl::StrCat("line ", number));
    } else {
      *input.flows[it->second].mutable_actions() = flow->spec.actions();
    }
    return absl::OkStatus();
  });
}

std::string Describe(const LintInput& input, size_t flow) {
  return absl::StrCat(input.places[flow], ": ", FormatSpec(input.flows[flow]));
}

bool SameActions(const LintInput& input, const LintFinding& finding) {
  return FormatActions(input.flows[finding.flow]) == FormatActions(input.flows[finding.other]);
}

void PrintText(const LintInput& input, const LintFinding& finding) {
  switch (finding.kind) {
    case LintKind::kShadowed:
      std::cout << "shadowed: " << Describe(input, finding.flow) << "\n  never wins: all that it matches goes to "
                << Describe(input, finding.other) << "\n";
      return;
    case LintKind::kOverlap:
      std::cout << "overlap: " << Describe(input, finding.flow) << "\n  and " << Describe(input, finding.other)
                << "\n  have one priority; of packets that both match the older one takes all"
                << (SameActions(input, finding) ? " (their actions are the same)\n" : "\n");
      return;
    case LintKind::kUnreachable:
      std::cout << "unreachable: table " << finding.table_id
                << ": no flow that can win goes there, and no miss policy; its first flow is "
                << Describe(input, finding.flow) << "\n";
      return;
  }
}

std::string AsJson(const LintInput& input, const LintFinding& finding) {
  const auto text = [&](size_t flow) { return JsonString(Describe(input, flow)); };
  return JsonObject({{"kind", JsonString(LintKindName(finding.kind))},
                     {"table_id", absl::StrCat(finding.table_id)},
                     {"flow", text(finding.flow)},
                     {"other", finding.kind == LintKind::kUnreachable ? "null" : text(finding.other)}});
}

void Print(const Cli& cli, const LintInput& input, const LintResult& result) {
  if (cli.json()) {
    std::cout << "{\"complete\": " << (result.complete ? "true" : "false") << ", \"findings\": ";
    JsonList list(std::cout);
    list.Begin();
    for (const LintFinding& finding : result.findings) list.Add(AsJson(input, finding));
    list.End();
    std::cout << "}\n";
    return;
  }
  for (const LintFinding& finding : result.findings) PrintText(input, finding);
  if (!result.complete) std::cout << "there are more overlaps: --overlaps 0 lists all\n";
  std::cout << input.flows.size() << " flows, "
            << (result.findings.empty() ? std::string("nothing found")
                                        : absl::StrCat(result.findings.size(), " findings"))
            << "\n";
}

int Lint(Cli& cli, const std::string& path, size_t max_overlaps) {
  LintInput input;
  if (path.empty()) {
    const absl::Status status = ReadSwitch(cli, input);
    if (!status.ok()) return cli.Fail(status);
  } else if (const absl::Status status = ReadFile(cli, path, input); !status.ok()) {
    return cli.Misused(status);
  }
  const LintResult result = LintFlows(input.flows, input.tables, max_overlaps);
  Print(cli, input, result);
  return result.findings.empty() ? kOk : kRequestFailed;
}

}  // namespace

void AddLintCommand(CLI::App& flow, Cli& cli, Action& action) {
  struct Arguments {
    std::string file;
    size_t overlaps = kUsualOverlaps;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* lint = flow.add_subcommand(
      "lint",
      "Find flows that never win, flows of equal priority that overlap, and tables that no packet reaches.\n"
      "Exit code 1 if there are any.");
  lint->add_option("FILE", arguments->file,
                   "Flows as flow add-file reads them, of tables that drop what no flow matches; - is standard input. "
                   "Without it, the flows of the switch");
  lint->add_option("--overlaps", arguments->overlaps, "List at most so many overlaps; 0: all")->capture_default_str();
  lint->callback([&action, &cli, arguments] {
    action = [&cli, arguments] { return Lint(cli, arguments->file, arguments->overlaps); };
  });
}

}  // namespace sluice::client
