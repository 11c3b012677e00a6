// sluicectl mask list and table list.

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli.h"
#include "client/flow_text.h"
#include "client/output.h"

namespace sluice::client {
namespace {

int ListTables(Cli& cli) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::ListTablesResponse> response = (*client)->ListTables();
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    std::cout << ToJson(*response) << "\n";
    return kOk;
  }
  TableText table({"TABLE", "FLOWS", "MASKS", "LOOKUPS", "MATCHES", "MASKS/LOOKUP"});
  for (const v1::Table& t : response->tables()) {
    const double visited =
        t.lookups() == 0 ? 0 : static_cast<double>(t.masks_visited()) / static_cast<double>(t.lookups());
    table.Add({absl::StrCat(t.id()), absl::StrCat(t.flow_count()), absl::StrCat(t.mask_count()),
               absl::StrCat(t.lookups()), absl::StrCat(t.matches()), absl::StrFormat("%.2f", visited)});
  }
  table.Print(std::cout);
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

}  // namespace

void AddTableCommands(CLI::App& app, Cli& cli, Action& action) {
  CLI::App* table = app.add_subcommand("table", "Tables");
  table->require_subcommand(1);
  table->add_subcommand("list", "List the tables in use and their counters")->callback([&] {
    action = [&cli] { return ListTables(cli); };
  });

  const auto table_id = std::make_shared<uint32_t>(0);
  CLI::App* mask = app.add_subcommand("mask", "Masks: the sets of bits that flows look at");
  mask->require_subcommand(1);
  CLI::App* list = mask->add_subcommand("list", "List a table's masks in the order in which a lookup tries them");
  list->add_option("--table", *table_id, "The table; 0 if not given");
  list->callback([&action, &cli, table_id] { action = [&cli, table_id] { return ListMasks(cli, *table_id); }; });
}

}  // namespace sluice::client
