// Groups.

#include "client/group_text.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/flow_text_actions.h"
#include "client/flow_text_lexer.h"
#include "client/flow_text_match.h"
#include "client/flow_text_value.h"
#include "client/flow_words.h"

namespace sluice::client {
namespace {

constexpr uint64_t kMaxGroup = 0xffffff00;
constexpr uint64_t kMaxWeight = 65535;

const std::map<absl::string_view, v1::GroupType>& GroupTypes() {
  static const std::map<absl::string_view, v1::GroupType> types = {{"all", v1::GROUP_TYPE_ALL},
                                                                   {"select", v1::GROUP_TYPE_SELECT},
                                                                   {"indirect", v1::GROUP_TYPE_INDIRECT},
                                                                   {"ff", v1::GROUP_TYPE_FAST_FAILOVER},
                                                                   {"fast_failover", v1::GROUP_TYPE_FAST_FAILOVER}};
  return types;
}

TextError GroupError(int column, std::string text) { return {column, std::move(text)}; }

int ColumnOf(const Token& token) { return token.value.empty() ? token.key_column : token.value_column; }

TextError ReadNumber(const Token& token, uint64_t min, uint64_t max, uint32_t& out) {
  const absl::StatusOr<uint64_t> number = ParseNumberIn(token.key, token.value, min, max);
  if (!number.ok()) return GroupError(ColumnOf(token), std::string(number.status().message()));
  out = static_cast<uint32_t>(*number);
  return {};
}

bool IsCounter(absl::string_view key) {
  return key == "n_packets" || key == "n_bytes" || key == "packet_count" || key == "byte_count" || key == "ref_count" ||
         key == "duration";
}

class GroupParser {
 public:
  explicit GroupParser(const TextOptions& options) : options_(options) {}

  TextError Parse(absl::string_view text, v1::GroupSpec& out) {
    Lexer lexer(text);
    Token token;
    std::vector<Token> buckets;
    while (lexer.Next(&token)) {
      if (token.unclosed)
        return GroupError(token.key_column, absl::StrCat(token.key, " has no end; expected \")\" or a closing quote"));
      if (token.key == "bucket" || token.key == "buckets") {
        buckets.push_back(token);
      } else if (buckets.empty()) {
        if (TextError error = Key(token, out)) return error;
      }
    }
    const int end = static_cast<int>(text.size()) + 1;
    if (out.group_id() == 0) return GroupError(end, "the group has no number; expected group_id=1 or the like");
    if (out.type() == v1::GROUP_TYPE_UNSPECIFIED)
      return GroupError(end, "the group has no type; expected type=all, select, indirect or ff");
    for (size_t i = 0; i < buckets.size(); ++i) {
      const auto from = static_cast<size_t>(buckets[i].value_column - 1);
      const size_t to = i + 1 < buckets.size() ? static_cast<size_t>(buckets[i + 1].key_column - 1) : text.size();
      if (buckets[i].delimiter != '=')
        return GroupError(buckets[i].key_column, "bucket has no value; expected bucket=output:1 or the like");
      if (TextError error = Bucket(text.substr(from, to - from), buckets[i].value_column, out)) return error;
    }
    return {};
  }

 private:
  TextError Key(const Token& token, v1::GroupSpec& out) {
    if (IsCounter(token.key) || (token.key == "add" && token.delimiter == '\0')) return {};
    if (token.key == "group_id") {
      uint32_t id = 0;
      if (TextError error = ReadNumber(token, 1, kMaxGroup, id)) return error;
      out.set_group_id(id);
      return {};
    }
    if (token.key == "type") {
      const auto type = GroupTypes().find(token.value);
      if (type == GroupTypes().end()) {
        return GroupError(
            ColumnOf(token),
            absl::StrCat("\"", token.value, "\" is no type of group; expected all, select, indirect or ff"));
      }
      out.set_type(type->second);
      return {};
    }
    if (token.key == "selection_method") {
      if (token.value == "hash" || token.value == "dp_hash") return {};
      return GroupError(ColumnOf(token),
                        absl::StrCat("\"", token.value, "\" is no selection method; expected hash or dp_hash"));
    }
    if (token.key == "fields") return HashFields(token, out);
    return GroupError(
        token.key_column,
        absl::StrCat("unknown word \"", token.key, "\"; expected group_id, type, selection_method, fields or bucket"));
  }

  TextError HashFields(const Token& token, v1::GroupSpec& out) {
    Lexer lexer(token.value, token.value_column);
    Token field;
    while (lexer.Next(&field)) {
      const KeyWord* word = FindKey(field.key);
      if (word == nullptr || word->field == nullptr) {
        return GroupError(field.key_column, absl::StrCat("unknown field \"", field.key, "\"", SuggestKey(field.key)));
      }
      if (field.delimiter != '\0') {
        return GroupError(field.value_column,
                          absl::StrCat("fields: ", field.key, " takes no mask in this version; expected its name"));
      }
      out.add_hash_fields(word->field->id);
    }
    return {};
  }

  TextError Bucket(absl::string_view text, int column, v1::GroupSpec& group) {
    v1::Bucket& out = *group.add_buckets();
    Lexer lexer(text, column);
    Token token;
    while (lexer.Next(&token)) {
      bool is_option = true;
      if (TextError error = Option(token, out, is_option)) return error;
      if (is_option) continue;
      const bool named = token.key == "actions" || token.key == "action";
      if (named && token.delimiter == '\0') {
        return GroupError(token.key_column,
                          absl::StrCat(token.key, " has no value; expected ", token.key, "=output:1 or the like"));
      }
      const absl::string_view rest = lexer.From(named ? token.value : token.key);
      return Actions(rest, named ? token.value_column : token.key_column, out);
    }
    return {};
  }

  TextError Option(const Token& token, v1::Bucket& out, bool& is_option) {
    uint32_t number = 0;
    if (IsCounter(token.key)) return {};
    if (token.key == "weight") {
      if (TextError error = ReadNumber(token, 0, kMaxWeight, number)) return error;
      out.set_weight(number);
    } else if (token.key == "bucket_id") {
      if (TextError error = ReadNumber(token, 0, kMaxGroup, number)) return error;
      out.set_bucket_id(number);
    } else if (token.key == "watch_group") {
      if (TextError error = ReadNumber(token, 1, kMaxGroup, number)) return error;
      out.set_watch_group(number);
    } else if (token.key == "watch_port") {
      const absl::StatusOr<uint32_t> port = ParsePort(token.key, token.value, options_.port_names);
      if (!port.ok()) return GroupError(ColumnOf(token), std::string(port.status().message()));
      out.set_watch_port(*port);
    } else {
      is_option = false;
    }
    return {};
  }

  TextError Actions(absl::string_view text, int column, v1::Bucket& out) {
    const MatchParser match(&options_.port_names);
    ActionParser parser(match, &options_.port_names, *out.mutable_actions());
    parser.KnowNothing();
    return parser.Parse(Lexer(text, column));
  }

  const TextOptions& options_;
};

std::string FormatBucket(const v1::Bucket& bucket, const v1::GroupStats* stats) {
  std::vector<std::string> parts;
  if (bucket.has_bucket_id()) parts.push_back(absl::StrCat("bucket_id:", bucket.bucket_id()));
  if (bucket.has_weight()) parts.push_back(absl::StrCat("weight:", bucket.weight()));
  if (bucket.watch_port() != 0) parts.push_back(absl::StrCat("watch_port:", bucket.watch_port()));
  if (bucket.watch_group() != 0) parts.push_back(absl::StrCat("watch_group:", bucket.watch_group()));
  if (stats != nullptr) {
    parts.push_back(absl::StrCat("n_packets:", stats->packets(), ",n_bytes:", stats->bytes()));
  }
  v1::FlowSpec actions;
  *actions.mutable_actions() = bucket.actions();
  parts.push_back(absl::StrCat("actions=", FormatActions(actions)));
  return absl::StrCat("bucket=", absl::StrJoin(parts, ","));
}

std::string FormatParts(const v1::GroupSpec& spec, const v1::Group* stats) {
  std::vector<std::string> parts = {absl::StrCat("group_id=", spec.group_id())};
  for (const auto& [name, type] : GroupTypes()) {
    if (type != spec.type()) continue;
    parts.push_back(absl::StrCat("type=", name));
    break;  // fast_failover comes before ff
  }
  if (spec.hash_fields_size() > 0) {
    std::vector<std::string> names;
    for (const int id : spec.hash_fields()) {
      const FieldInfo* field = FindField(static_cast<v1::Field>(id));
      names.push_back(field != nullptr ? field->options.name() : absl::StrCat("field_", id));
    }
    parts.push_back(absl::StrCat("selection_method=hash,fields(", absl::StrJoin(names, ","), ")"));
  }
  for (int i = 0; i < spec.buckets_size(); ++i) {
    const bool counted = stats != nullptr && i < stats->bucket_stats_size();
    parts.push_back(FormatBucket(spec.buckets(i), counted ? &stats->bucket_stats(i) : nullptr));
  }
  return absl::StrJoin(parts, ",");
}

}  // namespace

absl::StatusOr<v1::GroupSpec> ParseGroup(absl::string_view text, const TextOptions& options) {
  v1::GroupSpec spec;
  if (const TextError error = GroupParser(options).Parse(text, spec)) return AtPlace(options, error);
  return spec;
}

std::string FormatGroupSpec(const v1::GroupSpec& spec) { return FormatParts(spec, nullptr); }

std::string FormatGroup(const v1::Group& group, bool wide) {
  return absl::StrCat("n_packets=", group.stats().packets(), ", n_bytes=", group.stats().bytes(), ", ",
                      FormatParts(group.spec(), wide ? &group : nullptr));
}

}  // namespace sluice::client
