#include "client/complete.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <ostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice::client {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);  // with the switch
constexpr uint32_t kMaxFlows = 100;                     // more helps nobody
constexpr char kAddressOption[] = "--address";

struct Word {
  std::string text;
  std::string meaning;
};

struct Completions {
  const char* kind = "words";
  std::vector<Word> words;
};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// The option of that name, of the command or of those around it.
const CLI::Option* FindOption(const CLI::App* command, const std::string& name) {
  for (; command != nullptr; command = command->get_parent()) {
    if (const CLI::Option* option = command->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

const CLI::App* FindCommand(const CLI::App* command, const std::string& name) {
  const auto found = command->get_subcommands([&](const CLI::App* sub) { return sub->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

// The argument that stands in this place; the last one may take many.
const CLI::Option* FindArgument(const CLI::App* command, size_t place) {
  const auto arguments = command->get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (place < arguments.size()) return arguments[place];
  const bool many = !arguments.empty() && arguments.back()->get_expected_max() > 1;
  return many ? arguments.back() : nullptr;
}

class Completer {
 public:
  Completer(const CLI::App& app, Cli& cli) : command_(&app), cli_(cli) {
    if (const char* address = std::getenv(kAddressVariable)) cli_.address = address;
  }

  // A word that stands before the one to be completed.
  void Take(const std::string& word) {
    const bool is_option = word.size() > 1 && word[0] == '-';
    if (const CLI::Option* option = std::exchange(pending_, nullptr); option != nullptr) {
      if (option->check_name(kAddressOption)) cli_.address = word;
      if (option->get_items_expected_min() > 0 || !is_option) return;
    }
    if (!is_option) return TakeArgument(word);
    const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    const CLI::Option* option = FindOption(command_, parts[0]);
    if (option == nullptr) return;
    given_.push_back(option);
    if (parts.size() == 1 && option->get_items_expected_max() > 0) pending_ = option;
    if (parts.size() == 2 && option->check_name(kAddressOption)) cli_.address = parts[1];
  }

  Completions Complete(const std::string& word) {
    Completions out;
    const bool is_option = absl::StartsWith(word, "-");
    const size_t equals = word.find('=');
    if (pending_ != nullptr && (pending_->get_items_expected_min() > 0 || !is_option)) {
      AddValues(*pending_, out);
    } else if (is_option && equals != std::string::npos) {
      const CLI::Option* option = FindOption(command_, word.substr(0, equals));
      if (option != nullptr) AddValues(*option, out);
      for (Word& value : out.words) value.text = word.substr(0, equals + 1) + value.text;
    } else if (is_option) {
      AddOptions(out);
    } else {
      if (arguments_ == 0) AddCommands(out);
      const CLI::Option* argument = FindArgument(command_, arguments_);
      if (argument != nullptr) AddValues(*argument, out);
    }
    std::erase_if(out.words, [&](const Word& w) { return !absl::StartsWith(w.text, word); });
    return out;
  }

 private:
  void TakeArgument(const std::string& word) {
    const CLI::App* sub = FindCommand(command_, word);
    if (sub == nullptr) {
      ++arguments_;
    } else {
      command_ = sub;
      arguments_ = 0;
    }
  }

  void AddCommands(Completions& out) const {
    for (const CLI::App* sub : command_->get_subcommands([](const CLI::App*) { return true; })) {
      out.words.push_back({sub->get_name(), FirstLine(sub->get_description())});
    }
  }

  // Long names; those that were given are not offered again.
  void AddOptions(Completions& out) const {
    for (const CLI::App* command = command_; command != nullptr; command = command->get_parent()) {
      for (const CLI::Option* option : command->get_options()) {
        const bool given = std::find(given_.begin(), given_.end(), option) != given_.end();
        const bool again = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
        if (option->get_lnames().empty() || (given && !again)) continue;
        Word word{absl::StrCat("--", option->get_lnames().front()), FirstLine(option->get_description())};
        // --help is every command's.
        const auto same = [&](const Word& other) { return other.text == word.text; };
        if (std::none_of(out.words.begin(), out.words.end(), same)) out.words.push_back(std::move(word));
      }
    }
  }

  void AddValues(const CLI::Option& option, Completions& out) {
    const std::string type = option.get_type_name();
    const std::string name = option.get_positional() ? option.get_name(true) : type;
    const size_t open = type.find('{'), close = type.find('}');
    if (open != std::string::npos && close != std::string::npos) {
      for (absl::string_view choice : absl::StrSplit(type.substr(open + 1, close - open - 1), ',')) {
        out.words.push_back({std::string(choice), ""});
      }
    } else if (name == "FILE") {
      out.kind = "files";
    } else if (name == "DIR") {
      out.kind = "folders";
    } else if (name == "IFACE") {
      AddInterfaces(out);
    } else if (name == "NAME|NUMBER") {
      AddPorts(out);
    } else if (name == "ID|FLOW") {
      AddFlows(out);
    }
  }

  static void AddInterfaces(Completions& out) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", ignored)) {
      out.words.push_back({entry.path().filename().string(), ""});
    }
  }

  std::unique_ptr<Client> Connect() const {
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(cli_.address, {.timeout = kPatience});
    return client.ok() ? *std::move(client) : nullptr;
  }

  void AddPorts(Completions& out) const {
    const std::unique_ptr<Client> client = Connect();
    if (client == nullptr) return;
    const absl::StatusOr<v1::ListPortsResponse> ports = client->ListPorts();
    if (!ports.ok()) return;
    for (const v1::Port& port : ports->ports()) {
      out.words.push_back({port.spec().name(), absl::StrCat("port ", port.spec().number())});
    }
  }

  void AddFlows(Completions& out) const {
    const std::unique_ptr<Client> client = Connect();
    if (client == nullptr) return;
    v1::ListFlowsRequest request;
    request.set_page_size(kMaxFlows);
    const absl::StatusOr<v1::ListFlowsResponse> flows = client->ListFlows(request);
    if (!flows.ok()) return;
    for (const v1::Flow& flow : flows->flows()) {
      out.words.push_back({absl::StrCat(flow.id()), FormatSpec(flow.spec())});
    }
  }

  const CLI::App* command_;
  Cli& cli_;
  const CLI::Option* pending_ = nullptr;  // whose value comes next
  std::vector<const CLI::Option*> given_;
  size_t arguments_ = 0;  // of the command, so far
};

}  // namespace

void PrintCompletions(const CLI::App& app, Cli& cli, const std::vector<std::string>& words, std::ostream& out) {
  Completer completer(app, cli);
  for (size_t i = 0; i + 1 < words.size(); ++i) completer.Take(words[i]);
  const Completions completions = completer.Complete(words.empty() ? "" : words.back());
  out << completions.kind << "\n";
  for (const Word& word : completions.words) out << word.text << "\t" << word.meaning << "\n";
}

}  // namespace sluice::client
