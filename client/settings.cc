#include "client/settings.h"

#include <google/protobuf/util/time_util.h>

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice::client {
namespace {

using google::protobuf::util::TimeUtil;
using Request = v1::UpdateSettingsRequest;

bool SetFlowCacheEntries(const std::string& text, Request& out) {
  uint32_t entries = 0;
  if (!absl::SimpleAtoi(text, &entries)) return false;
  out.set_flow_cache_entries(entries);
  return true;
}

bool SetPruning(const std::string& text, Request& out) {
  out.set_pruning(text == "true");
  return text == "true" || text == "false";
}

bool SetEqualPriority(const std::string& text, Request& out) {
  out.set_equal_priority(text == "any" ? v1::EQUAL_PRIORITY_ANY : v1::EQUAL_PRIORITY_OLDEST);
  return text == "any" || text == "oldest";
}

bool SetMaskCacheEntries(const std::string& text, Request& out) {
  uint32_t entries = 0;
  if (!absl::SimpleAtoi(text, &entries)) return false;
  out.set_mask_cache_entries(entries);
  return true;
}

bool SetResortSeconds(const std::string& text, Request& out) {
  return TimeUtil::FromString(absl::StrCat(text, "s"), out.mutable_resort_period());
}

// Without its unit, as the key says it.
std::string Seconds(const google::protobuf::Duration& duration) {
  std::string text = TimeUtil::ToString(duration);
  text.pop_back();
  return text;
}

struct Setting {
  const char* key;
  const char* values;  // that it may have
  const char* forms;   // of its assignments, for completion
  bool (*set)(const std::string& text, Request& out);
  std::string (*get)(const v1::Settings& settings);
};

constexpr Setting kSettings[] = {
    {"flow_cache_entries", "a number from 0, for none, to 16777216", "flow_cache_entries=", SetFlowCacheEntries,
     [](const v1::Settings& s) { return absl::StrCat(s.flow_cache_entries()); }},
    {"pruning", "true or false", "pruning=true,pruning=false", SetPruning,
     [](const v1::Settings& s) { return std::string(s.pruning() ? "true" : "false"); }},
    {"equal_priority", "oldest or any", "equal_priority=oldest,equal_priority=any", SetEqualPriority,
     [](const v1::Settings& s) {
       return std::string(s.equal_priority() == v1::EQUAL_PRIORITY_ANY ? "any" : "oldest");
     }},
    {"mask_cache_entries", "a number from 0, for none, to 1048576", "mask_cache_entries=", SetMaskCacheEntries,
     [](const v1::Settings& s) { return absl::StrCat(s.mask_cache_entries()); }},
    {"resort_seconds", "seconds from 0, for never, to 86400", "resort_seconds=", SetResortSeconds,
     [](const v1::Settings& s) { return Seconds(s.resort_period()); }},
};

// A word of every setting, as a list.
std::string ListOf(const char* Setting::*word, const char* separator) {
  std::string list;
  for (const Setting& setting : kSettings) absl::StrAppend(&list, list.empty() ? "" : separator, setting.*word);
  return list;
}

const Setting* Find(const std::string& key) {
  for (const Setting& setting : kSettings) {
    if (key == setting.key) return &setting;
  }
  return nullptr;
}

absl::Status ParseAssignment(const std::string& command, const std::string& text, Request& out) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  const Setting* setting = Find(parts.first);
  const bool has_value = text.find('=') != std::string::npos;
  if (setting == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(command, ": \"", parts.first,
                                                   "\" is no setting; expected KEY=VALUE with one of ",
                                                   ListOf(&Setting::key, ", ")));
  }
  if (!has_value) {
    return absl::InvalidArgumentError(absl::StrCat(command, ": ", setting->key, " has no value; expected ",
                                                   setting->key, "=VALUE: ", setting->values));
  }
  if (!setting->set(parts.second, out)) {
    return absl::InvalidArgumentError(
        absl::StrCat(command, ": ", setting->key, " is \"", parts.second, "\"; expected ", setting->values));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::UpdateSettingsRequest> ParseSettings(const std::string& command,
                                                        const std::vector<std::string>& assignments) {
  v1::UpdateSettingsRequest request;
  std::set<std::string> keys;
  for (const std::string& assignment : assignments) {
    const std::string key = assignment.substr(0, assignment.find('='));
    if (!keys.insert(key).second) {
      return absl::InvalidArgumentError(absl::StrCat(command, ": ", key, " is given twice; expected it once"));
    }
    if (absl::Status status = ParseAssignment(command, assignment, request); !status.ok()) return status;
  }
  return request;
}

std::string FormatSettings(const v1::Settings& settings) {
  std::string text;
  for (const Setting& setting : kSettings) absl::StrAppend(&text, setting.key, "=", setting.get(settings), "\n");
  return text;
}

std::string SettingForms() { return "{" + ListOf(&Setting::forms, ",") + "}"; }

}  // namespace sluice::client
