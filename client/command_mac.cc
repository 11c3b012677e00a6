// sluicectl mac: list, flush.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli.h"
#include "client/output.h"

namespace sluice::client {
namespace {

std::string FormatMac(uint64_t mac) {
  std::string text;
  for (int bits = 40; bits >= 0; bits -= 8) {
    absl::StrAppend(&text, text.empty() ? "" : ":", absl::Hex(mac >> bits & 0xff, absl::kZeroPad2));
  }
  return text;
}

// "02:00:00:00:00:0a"; empty: right. Else what is wrong.
std::string ReadMac(const std::string& text, uint64_t& mac) {
  unsigned bytes[6];
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &bytes[0], &bytes[1], &bytes[2], &bytes[3],
                               &bytes[4], &bytes[5], &end);
  if (read != 6 || static_cast<size_t>(end) != text.size()) {
    return absl::StrCat("\"", text, "\" is no MAC address; expected, for example, 02:00:00:00:00:0a");
  }
  mac = 0;
  for (const unsigned byte : bytes) mac = mac << 8 | byte;
  return "";
}

int ListMacs(Cli& cli, const v1::MacFilter& filter) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  v1::ListMacsRequest request;
  *request.mutable_filter() = filter;
  v1::ListMacsResponse all;
  do {
    const absl::StatusOr<v1::ListMacsResponse> page = (*client)->ListMacs(request);
    if (!page.ok()) return cli.Fail(page.status());
    all.MergeFrom(*page);
    *all.mutable_table() = page->table();
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  all.clear_next_page_token();
  if (cli.json()) {
    std::cout << ToJson(all) << "\n";
    return kOk;
  }
  TableText table({"PORT", "VLAN", "MAC", "AGE"});
  for (const v1::Mac& mac : all.macs()) {
    table.Add({absl::StrCat(mac.port()), absl::StrCat(mac.vlan_id()), FormatMac(mac.mac()),
               absl::StrCat(mac.age().seconds())});
  }
  table.Print(std::cout);
  if (cli.wide()) {
    const v1::MacTable& t = all.table();
    std::cout << t.entries() << " of at most " << t.max_entries() << " stations, forgotten after "
              << t.max_age().seconds() << " s; learned " << t.learned() << ", moved " << t.moved() << ", evicted "
              << t.evicted() << ", expired " << t.expired() << "\n";
  }
  return kOk;
}

int FlushMacs(Cli& cli, const v1::MacFilter& filter) {
  const absl::StatusOr<Client*> client = cli.client();
  if (!client.ok()) return cli.Misused(client.status());
  v1::FlushMacsRequest request;
  *request.mutable_filter() = filter;
  const absl::StatusOr<v1::FlushMacsResponse> response = (*client)->FlushMacs(request);
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    std::cout << ToJson(*response) << "\n";
  } else {
    std::cout << response->flushed() << " forgotten\n";
  }
  return kOk;
}

void AddFilter(CLI::App* command, const std::shared_ptr<v1::MacFilter>& filter) {
  command->add_option_function<uint32_t>(
      "--port", [filter](const uint32_t& port) { filter->set_port(port); }, "Only behind the port with this number");
  command->add_option_function<uint32_t>(
      "--vlan", [filter](const uint32_t& vlan) { filter->set_vlan_id(vlan); }, "Only in this VLAN; 0: untagged");
  command
      ->add_option_function<std::string>(
          "--mac",
          [filter](const std::string& text) {
            uint64_t mac = 0;
            ReadMac(text, mac);
            filter->set_mac(mac);
          },
          "Only this address")
      ->check([](const std::string& text) {
        uint64_t mac = 0;
        return ReadMac(text, mac);
      });
}

}  // namespace

void AddMacCommands(CLI::App& app, Cli& cli, Action& action) {
  CLI::App* mac = app.add_subcommand("mac", "Stations that the action NORMAL has learned");
  mac->require_subcommand(1);
  const auto filter = std::make_shared<v1::MacFilter>();
  CLI::App* list = mac->add_subcommand("list", "List them; AGE in seconds since their last packet");
  AddFilter(list, filter);
  list->callback([&action, &cli, filter] { action = [&cli, filter] { return ListMacs(cli, *filter); }; });
  CLI::App* flush = mac->add_subcommand("flush", "Forget them");
  AddFilter(flush, filter);
  flush->callback([&action, &cli, filter] { action = [&cli, filter] { return FlushMacs(cli, *filter); }; });
}

}  // namespace sluice::client
