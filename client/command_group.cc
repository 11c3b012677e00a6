// sluicectl group and meter: add, add-file, modify, delete, get, list. Both work
// alike; what differs stands in Groups and Meters.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/bulk_load.h"
#include "client/cli.h"
#include "client/group_text.h"
#include "client/output.h"

namespace sluice::client {
namespace {

struct Groups {
  using Spec = v1::GroupSpec;
  using Item = v1::Group;
  static constexpr char kName[] = "group";
  static constexpr char kId[] = "group_id=";
  static constexpr char kExample[] = "As ovs-ofctl's: group_id=1,type=select,bucket=weight:10,actions=output:2";
  static constexpr char kArgument[] = "GROUP";
  static constexpr char kHelp[] = "Groups: copies, load balancing and failover";

  static absl::StatusOr<Spec> Parse(absl::string_view text, const TextOptions& options) {
    return ParseGroup(text, options);
  }
  static std::string Format(const Item& item, bool wide) { return FormatGroup(item, wide); }
  static uint32_t Id(const Spec& spec) { return spec.group_id(); }
  static absl::StatusOr<Item> Create(Client& client, const Spec& spec) { return client.CreateGroup(spec); }
  static absl::StatusOr<Item> Update(Client& client, const Spec& spec, bool may_create) {
    return client.UpdateGroup(spec, may_create);
  }
  static absl::StatusOr<Item> Get(Client& client, uint32_t id) { return client.GetGroup(id); }
  static absl::StatusOr<Item> Delete(Client& client, uint32_t id) { return client.DeleteGroup(id); }
  static absl::StatusOr<std::vector<Item>> List(Client& client) { return client.ListGroups(); }
};

struct Meters {
  using Spec = v1::MeterSpec;
  using Item = v1::Meter;
  static constexpr char kName[] = "meter";
  static constexpr char kId[] = "meter=";
  static constexpr char kExample[] = "As ovs-ofctl's: meter=1,pktps,burst,bands=type=drop,rate=1000,burst_size=100";
  static constexpr char kArgument[] = "METER";
  static constexpr char kHelp[] = "Meters: rates that flows keep to";

  static absl::StatusOr<Spec> Parse(absl::string_view text, const TextOptions& options) {
    return ParseMeter(text, options);
  }
  static std::string Format(const Item& item, bool wide) { return FormatMeter(item, wide); }
  static uint32_t Id(const Spec& spec) { return spec.meter_id(); }
  static absl::StatusOr<Item> Create(Client& client, const Spec& spec) { return client.CreateMeter(spec); }
  static absl::StatusOr<Item> Update(Client& client, const Spec& spec, bool may_create) {
    return client.UpdateMeter(spec, may_create);
  }
  static absl::StatusOr<Item> Get(Client& client, uint32_t id) { return client.GetMeter(id); }
  static absl::StatusOr<Item> Delete(Client& client, uint32_t id) { return client.DeleteMeter(id); }
  static absl::StatusOr<std::vector<Item>> List(Client& client) { return client.ListMeters(); }
};

struct PolicyArguments {
  std::vector<std::string> texts;
  std::string text;
  std::string file;
  bool may_create = false;
};

template <typename Kind>
class PolicyCommands {
 public:
  using Spec = typename Kind::Spec;
  using Item = typename Kind::Item;

  explicit PolicyCommands(Cli& cli) : cli_(cli) {}

  int Add(const std::vector<std::string>& texts) {
    std::vector<Spec> specs;
    for (const std::string& text : texts) {
      absl::StatusOr<Spec> spec = Parse(text, static_cast<int>(specs.size()) + 1);
      if (!spec.ok()) return cli_.Misused(spec.status());
      specs.push_back(*std::move(spec));
    }
    return Send(specs, "added", [](Client& client, const Spec& spec) { return Kind::Create(client, spec); });
  }

  int AddFile(const std::string& path) {
    const absl::StatusOr<std::string> text = ReadText(path);
    if (!text.ok()) return cli_.Misused(text.status());
    std::vector<Spec> specs;
    const std::string source = path == "-" ? "standard input" : path;
    const absl::Status status = ForEachFlowLine(*text, [&](absl::string_view line, int number) -> absl::Status {
      TextOptions options{.source = source, .line = number};
      options.port_names = cli_.PortNames();
      absl::StatusOr<Spec> spec = Kind::Parse(line, options);
      if (spec.ok()) specs.push_back(*std::move(spec));
      return spec.status();
    });
    if (!status.ok()) return cli_.Misused(status);
    return Send(specs, "loaded", [](Client& client, const Spec& spec) { return Kind::Update(client, spec, true); });
  }

  int Modify(const std::string& text, bool may_create) {
    const absl::StatusOr<Spec> spec = Parse(text, 1);
    if (!spec.ok()) return cli_.Misused(spec.status());
    return Send({*spec}, "modified",
                [&](Client& client, const Spec& each) { return Kind::Update(client, each, may_create); });
  }

  int Get(const std::string& text) {
    uint32_t id = 0;
    if (absl::Status status = ParseId(text, id); !status.ok()) return cli_.Misused(status);
    const absl::StatusOr<Client*> client = cli_.client();
    if (!client.ok()) return cli_.Misused(client.status());
    const absl::StatusOr<Item> item = Kind::Get(**client, id);
    if (!item.ok()) return cli_.Fail(item.status());
    std::cout << (cli_.json() ? ToJson(*item) : Kind::Format(*item, cli_.wide())) << "\n";
    return kOk;
  }

  int List() {
    const absl::StatusOr<Client*> client = cli_.client();
    if (!client.ok()) return cli_.Misused(client.status());
    const absl::StatusOr<std::vector<Item>> items = Kind::List(**client);
    if (!items.ok()) return cli_.Fail(items.status());
    Print(*items);
    return kOk;
  }

  int Delete(const std::string& text) {
    uint32_t id = 0;
    if (!text.empty()) {
      if (absl::Status status = ParseId(text, id); !status.ok()) return cli_.Misused(status);
    }
    const absl::StatusOr<Client*> client = cli_.client();
    if (!client.ok()) return cli_.Misused(client.status());
    std::vector<uint32_t> ids = {id};
    if (text.empty()) {
      const absl::StatusOr<std::vector<Item>> items = Kind::List(**client);
      if (!items.ok()) return cli_.Fail(items.status());
      ids.clear();
      for (const Item& item : *items) ids.push_back(Kind::Id(item.spec()));
    }
    std::vector<Item> deleted;
    for (const uint32_t each : ids) {
      absl::StatusOr<Item> item = Kind::Delete(**client, each);
      if (!item.ok()) return cli_.Fail(item.status());
      deleted.push_back(*std::move(item));
    }
    if (cli_.json()) {
      Print(deleted);
    } else {
      std::cout << Counted(deleted.size(), "deleted") << "\n";
    }
    return kOk;
  }

 private:
  absl::StatusOr<Spec> Parse(const std::string& text, int number) {
    const std::string source = number == 1 ? Kind::kName : absl::StrCat(Kind::kName, " ", number);
    TextOptions options{.source = source};
    options.port_names = cli_.PortNames();
    return Kind::Parse(text, options);
  }

  // NUMBER, or as the text has it.
  static absl::Status ParseId(absl::string_view text, uint32_t& id) {
    absl::string_view number = text;
    if (absl::StartsWith(number, Kind::kId)) number.remove_prefix(absl::string_view(Kind::kId).size());
    if (absl::SimpleAtoi(number, &id)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no ", Kind::kName, "'s number; expected 1 or ", Kind::kId, "1"));
  }

  static std::string Counted(size_t count, const char* what) {
    return absl::StrCat(count, " ", Kind::kName, count == 1 ? " " : "s ", what);
  }

  void Print(const std::vector<Item>& items) {
    if (!cli_.json()) {
      for (const Item& item : items) std::cout << Kind::Format(item, cli_.wide()) << "\n";
      return;
    }
    std::cout << "{\"" << Kind::kName << "s\": ";
    JsonList list(std::cout);
    list.Begin();
    for (const Item& item : items) list.Add(ToJson(item));
    list.End();
    std::cout << "}\n";
  }

  // Goes on behind one that is refused.
  template <typename Call>
  int Send(const std::vector<Spec>& specs, const char* what, Call call) {
    const absl::StatusOr<Client*> client = cli_.client();
    if (!client.ok()) return cli_.Misused(client.status());
    std::vector<Item> done;
    int code = kOk;
    for (const Spec& spec : specs) {
      absl::StatusOr<Item> item = call(**client, spec);
      if (item.ok()) {
        done.push_back(*std::move(item));
      } else {
        code = cli_.Fail(item.status());
      }
    }
    if (cli_.json()) {
      Print(done);
    } else if (!done.empty()) {
      std::cout << Counted(done.size(), what) << "\n";
    }
    return code;
  }

  Cli& cli_;
};

template <typename Kind>
void AddPolicyCommands(CLI::App& app, Cli& cli, Action& action) {
  const auto arguments = std::make_shared<PolicyArguments>();
  const auto run = std::make_shared<PolicyCommands<Kind>>(cli);
  CLI::App* all = app.add_subcommand(Kind::kName, Kind::kHelp);
  all->require_subcommand(1);
  const auto command = [&](const char* name, const std::string& help, const std::function<int()>& function) {
    CLI::App* sub = all->add_subcommand(name, help);
    sub->callback([&action, function] { action = function; });
    return sub;
  };
  const std::string name = Kind::kName;
  command("add", absl::StrCat("Add ", name, "s that do not exist yet"), [=] { return run->Add(arguments->texts); })
      ->add_option(Kind::kArgument, arguments->texts, Kind::kExample)
      ->required();
  command("add-file", absl::StrCat("Add the ", name, "s of a file, one a line, or replace those that exist"),
          [=] { return run->AddFile(arguments->file); })
      ->add_option("FILE", arguments->file, "The file; - is standard input")
      ->required();
  CLI::App* modify = command("modify", absl::StrCat("Replace what a ", name, " does; its counters go on"),
                             [=] { return run->Modify(arguments->text, arguments->may_create); });
  modify->add_option(Kind::kArgument, arguments->text, "As for add")->required();
  modify->add_flag("--may-create", arguments->may_create, "Add it if it does not exist");
  command("delete", absl::StrCat("Remove a ", name, "; without ID all of them. Flows stay"), [=] {
    return run->Delete(arguments->text);
  })->add_option("ID", arguments->text, "Its number");
  command("get", absl::StrCat("Show a ", name), [=] { return run->Get(arguments->text); })
      ->add_option("ID", arguments->text, "Its number")
      ->required();
  command("list", absl::StrCat("List ", name, "s, as ", name, " add-file reads them"), [=] { return run->List(); });
}

}  // namespace

void AddGroupCommands(CLI::App& app, Cli& cli, Action& action) { AddPolicyCommands<Groups>(app, cli, action); }
void AddMeterCommands(CLI::App& app, Cli& cli, Action& action) { AddPolicyCommands<Meters>(app, cli, action); }

}  // namespace sluice::client
