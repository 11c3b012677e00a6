// sluicectl table list and set, mask list and mask resort.

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli.h"
#include "client/flow_text.h"
#include "client/output.h"

namespace sluice::client {
namespace {

const std::map<std::string, v1::MissPolicy> kMissPolicies = {
    {"drop", v1::MISS_POLICY_DROP}, {"continue", v1::MISS_POLICY_CONTINUE}, {"controller", v1::MISS_POLICY_CONTROLLER}};

std::string MissName(v1::MissPolicy policy) {
  for (const auto& [name, value] : kMissPolicies) {
    if (value == policy) return name;
  }
  return "?";
}

void PrintTables(const v1::ListTablesResponse& tables, bool wide) {
  std::vector<std::string> header = {"TABLE", "FLOWS", "MASKS", "LOOKUPS", "MATCHES", "MISS", "MASKS/LOOKUP"};
  if (wide) header.insert(header.end(), {"MASKS-VISITED", "INDEXED-MASKS", "INDEX-BYTES", "PRUNED", "MASK-CACHE-HITS"});
  TableText table(header);
  for (const v1::Table& t : tables.tables()) {
    const double visited =
        t.lookups() == 0 ? 0 : static_cast<double>(t.masks_visited()) / static_cast<double>(t.lookups());
    std::vector<std::string> row = {absl::StrCat(t.id()),
                                    absl::StrCat(t.flow_count()),
                                    absl::StrCat(t.mask_count()),
                                    absl::StrCat(t.lookups()),
                                    absl::StrCat(t.matches()),
                                    MissName(t.miss_policy()),
                                    absl::StrFormat("%.2f", visited)};
    if (wide) {
      row.insert(row.end(),
                 {absl::StrCat(t.masks_visited()), absl::StrCat(t.indexed_masks()), absl::StrCat(t.index_bytes()),
                  absl::StrCat(t.pruned_lookups()), absl::StrCat(t.mask_cache_hits())});
    }
    table.Add(std::move(row));
  }
  table.Print(std::cout);
}

int ListTables(Cli& cli) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::ListTablesResponse> response = (*client)->ListTables();
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    std::cout << ToJson(*response) << "\n";
    return kOk;
  }
  PrintTables(*response, cli.wide());
  return kOk;
}

int SetTable(Cli& cli, const v1::UpdateTableRequest& request) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::UpdateTableResponse> response = (*client)->UpdateTable(request);
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    std::cout << ToJson(*response) << "\n";
  } else {
    std::cout << "table " << request.table_id() << ": packets without a flow "
              << (request.miss_policy() == v1::MISS_POLICY_DROP         ? "are dropped"
                  : request.miss_policy() == v1::MISS_POLICY_CONTROLLER ? "go to controllers"
                                                                        : "go on in the next table")
              << "\n";
  }
  return kOk;
}

int ListMasks(Cli& cli, uint32_t table_id) {
  v1::ListMasksRequest request;
  request.set_table_id(table_id);
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::ListMasksResponse> response = (*client)->ListMasks(request);
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    std::cout << ToJson(*response) << "\n";
    return kOk;
  }
  TableText table({"ORDER", "FLOWS", "MAX-PRIORITY", "LOOKUPS", "HITS", "MASK"});
  int order = 0;
  for (const v1::Mask& mask : response->masks()) {
    const std::string bits = FormatMask(mask.fields());
    table.Add({absl::StrCat(++order), absl::StrCat(mask.flow_count()), absl::StrCat(mask.max_priority()),
               absl::StrCat(mask.lookups()), absl::StrCat(mask.hits()), bits.empty() ? "(everything matches)" : bits});
  }
  table.Print(std::cout);
  return kOk;
}

int ResortMasks(Cli& cli) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::ResortMasksResponse> response = (*client)->ResortMasks();
  if (!response.ok()) return cli.Fail(response.status());
  std::cout << (cli.json() ? ToJson(*response) : "masks are in order") << "\n";
  return kOk;
}

}  // namespace

void AddTableCommands(CLI::App& app, Cli& cli, Action& action) {
  CLI::App* table = app.add_subcommand("table", "Tables");
  table->require_subcommand(1);
  table->add_subcommand("list", "List the tables in use and their counters")->callback([&] {
    action = [&cli] { return ListTables(cli); };
  });

  const auto change = std::make_shared<v1::UpdateTableRequest>();
  CLI::App* set = table->add_subcommand("set", "Say what becomes of packets that no flow of a table matches");
  set->add_option_function<uint32_t>(
         "TABLE", [change](const uint32_t& id) { change->set_table_id(id); }, "The table, 0 to 254")
      ->required();
  set->add_option_function<std::string>(
         "--miss", [change](const std::string& name) { change->set_miss_policy(kMissPolicies.at(name)); },
         "drop, controller, or continue: in the table with the next number")
      ->required()
      ->check(CLI::IsMember(kMissPolicies));
  set->callback([&action, &cli, change] { action = [&cli, change] { return SetTable(cli, *change); }; });

  const auto table_id = std::make_shared<uint32_t>(0);
  CLI::App* mask = app.add_subcommand("mask", "Masks: the sets of bits that flows look at");
  mask->require_subcommand(1);
  CLI::App* list = mask->add_subcommand("list",
                                        "List a table's masks in the order in which a lookup tries them.\n"
                                        "LOOKUPS and HITS are of packets that no flow cache answered.");
  list->add_option("--table", *table_id, "The table; 0 if not given");
  list->callback([&action, &cli, table_id] { action = [&cli, table_id] { return ListMasks(cli, *table_id); }; });
  mask->add_subcommand("resort", "Put the masks of all tables in the order of their use now")->callback([&] {
    action = [&cli] { return ResortMasks(cli); };
  });
}

}  // namespace sluice::client
