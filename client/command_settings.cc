// sluicectl settings: how packets are looked up. Keys are the configuration's.

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "client/cli.h"
#include "client/output.h"
#include "client/settings.h"

namespace sluice::client {
namespace {

int Print(const Cli& cli, const v1::Settings& settings) {
  std::cout << (cli.json() ? ToJson(settings) + "\n" : FormatSettings(settings));
  return kOk;
}

int Get(Cli& cli) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::GetSettingsResponse> response = (*client)->GetSettings();
  return response.ok() ? Print(cli, response->settings()) : cli.Fail(response.status());
}

int Set(Cli& cli, const std::vector<std::string>& assignments) {
  const absl::StatusOr<v1::UpdateSettingsRequest> request = ParseSettings("settings set", assignments);
  if (!request.ok()) return cli.Misused(request.status());
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  const absl::StatusOr<v1::UpdateSettingsResponse> response = (*client)->UpdateSettings(*request);
  return response.ok() ? Print(cli, response->settings()) : cli.Fail(response.status());
}

}  // namespace

void AddSettingsCommands(CLI::App& app, Cli& cli, Action& action) {
  CLI::App* group = app.add_subcommand("settings", "How packets are looked up; changed while they pass");
  group->require_subcommand(1);
  group->add_subcommand("get", "Show the settings, as set takes them")->callback([&] {
    action = [&cli] { return Get(cli); };
  });

  const auto assignments = std::make_shared<std::vector<std::string>>();
  CLI::App* set = group->add_subcommand("set", "Change settings until the switch ends, and show all");
  set->add_option("SETTING", *assignments, "What to change, as KEY=VALUE")->required()->type_name(SettingForms());
  set->callback([&action, &cli, assignments] { action = [&cli, assignments] { return Set(cli, *assignments); }; });
}

}  // namespace sluice::client
