#include "client/flow_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/flow_text_actions.h"
#include "client/flow_text_lexer.h"
#include "client/flow_text_match.h"
#include "client/flow_text_value.h"
#include "client/flow_words.h"

namespace sluice::client {
namespace {

constexpr uint64_t kAllTables = 255;

TextError At(int column, std::string text) { return {column, std::move(text)}; }

class FlowParser {
 public:
  explicit FlowParser(const TextOptions& options) : options_(options), match_(&options.port_names) {}

  TextError Parse(absl::string_view text, FlowText* out) {
    out_ = out;
    out_->spec.set_priority(kDefaultPriority);
    Lexer lexer(text);
    Token token;
    std::optional<Token> actions;
    while (!actions && lexer.Next(&token)) {
      const KeyWord* word = FindKey(token.key);
      if (word != nullptr && word->kind == KeyKind::kActions) {
        actions = token;
      } else if (TextError error = Key(word, token)) {
        return error;
      }
    }
    if (TextError error = match_.Finish(*out_->spec.mutable_match())) return error;
    if (out_->spec.match().fields().empty()) out_->spec.clear_match();
    if (!actions) {
      if (options_.use == TextUse::kSelect) return {};
      return At(static_cast<int>(text.size()) + 1, "the flow has no actions; expected actions=…, or actions=drop");
    }
    return Actions(*actions, lexer);
  }

 private:
  TextError Actions(const Token& token, const Lexer& lexer) {
    if (options_.use == TextUse::kSelect)
      return At(token.key_column, "actions select no flows; expected a match alone");
    if (token.delimiter != '=')
      return At(token.key_column, absl::StrCat(token.key, " has no value; expected actions=…"));
    ActionParser parser(match_, &options_.port_names, *out_->spec.mutable_actions());
    return parser.Parse(Lexer(lexer.From(token.value), token.value_column));
  }

  TextError Key(const KeyWord* word, const Token& token) {
    if (token.unclosed)
      return At(token.key_column, absl::StrCat(token.key, " has no end; expected \")\" or a closing quote"));
    if (word == nullptr) {
      return At(token.key_column, absl::StrCat("unknown field \"", token.key, "\"", SuggestKey(token.key)));
    }
    if (word->kind < KeyKind::kActions) return match_.Add(*word, token);
    switch (word->kind) {
      case KeyKind::kCheckOverlap:
      case KeyKind::kResetCounts:
      case KeyKind::kFlag:
        if (token.delimiter != '\0') return At(token.value_column, absl::StrCat(token.key, " takes no value"));
        if (word->kind == KeyKind::kResetCounts && options_.use != TextUse::kChange) {
          return At(token.key_column, "reset_counts is for flows that are changed; flow modify takes it");
        }
        out_->check_overlap |= word->kind == KeyKind::kCheckOverlap;
        out_->reset_counts |= word->kind == KeyKind::kResetCounts;
        return {};
      case KeyKind::kStatistic:
        return {};
      case KeyKind::kCommand:
        if (token.key == "add" && token.delimiter == '\0') return {};
        return At(token.key_column, absl::StrCat(token.key, " is a command of its own; expected a flow"));
      case KeyKind::kNotThisSwitch:
      case KeyKind::kNotYet:
        return At(token.key_column, RefusalOf(word->kind, token.key));
      default:
        return Setting(word->kind, token);
    }
  }

  // A key with a number that is no condition.
  TextError Setting(KeyKind kind, const Token& token) {
    const int column = token.value.empty() ? token.key_column : token.value_column;
    if (kind == KeyKind::kCookie) return Cookie(token, column);
    if (kind == KeyKind::kOutPort) {
      if (options_.use == TextUse::kFlow)
        return At(token.key_column, "out_port selects flows; expected none in a flow");
      const absl::StatusOr<uint32_t> port = ParsePort(token.key, token.value, options_.port_names);
      if (!port.ok()) return At(column, std::string(port.status().message()));
      out_->out_port = *port;
      return {};
    }
    const absl::StatusOr<uint64_t> number =
        ParseNumberIn(token.key, token.value, 0, kind == KeyKind::kTable ? 255 : 65535);
    if (!number.ok()) return At(column, std::string(number.status().message()));
    v1::FlowSpec& spec = out_->spec;
    if (kind == KeyKind::kTable && *number != kAllTables) {
      out_->has_table = true;
      spec.set_table_id(static_cast<uint32_t>(*number));
    } else if (kind == KeyKind::kPriority) {
      out_->has_priority = true;
      spec.set_priority(static_cast<uint32_t>(*number));
    } else if (kind == KeyKind::kIdleTimeout && *number != 0) {
      spec.mutable_idle_timeout()->set_seconds(static_cast<int64_t>(*number));
    } else if (kind == KeyKind::kHardTimeout && *number != 0) {
      spec.mutable_hard_timeout()->set_seconds(static_cast<int64_t>(*number));
    }
    return {};
  }

  TextError Cookie(const Token& token, int column) {
    const size_t slash = token.value.find('/');
    const auto read = [&](absl::string_view text) -> absl::StatusOr<uint64_t> {
      if (text == "-1") return ~uint64_t{0};
      return ParseNumberIn(token.key, text, 0, ~uint64_t{0});
    };
    const absl::StatusOr<uint64_t> value = read(token.value.substr(0, slash));
    if (!value.ok()) return At(column, std::string(value.status().message()));
    if (slash == absl::string_view::npos) {
      out_->has_cookie = true;
      out_->spec.set_cookie(*value);
      return {};
    }
    const absl::StatusOr<uint64_t> mask = read(token.value.substr(slash + 1));
    if (!mask.ok()) return At(column, std::string(mask.status().message()));
    if (options_.use == TextUse::kFlow) {
      return At(column, "cookie=VALUE/MASK selects flows; expected cookie=VALUE in a flow to add");
    }
    out_->cookie_match.emplace(*value, *mask);
    return {};
  }

  const TextOptions& options_;
  MatchParser match_;
  FlowText* out_ = nullptr;
};

// The line without its comment; a # in quotes is none.
absl::string_view WithoutComment(absl::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

// What an error quotes may hold anything, and terminals obey some of it.
std::string WithoutControls(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&out, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

absl::Status AtPlace(const TextOptions& options, const TextError& error) {
  return absl::InvalidArgumentError(
      absl::StrCat(options.source, ":", options.line, ":", error.column, ": ", WithoutControls(error.text)));
}

absl::StatusOr<FlowText> ParseFlow(absl::string_view text, const TextOptions& options) {
  FlowText flow;
  if (const TextError error = FlowParser(options).Parse(text, &flow)) {
    return AtPlace(options, error);
  }
  return flow;
}

v1::FlowFilter ToFilter(const FlowText& text) {
  v1::FlowFilter filter;
  if (text.has_table) filter.set_table_id(text.spec.table_id());
  if (text.has_priority) filter.set_priority(text.spec.priority());
  if (text.spec.match().fields_size() > 0) *filter.mutable_match() = text.spec.match();
  if (text.cookie_match) {
    filter.set_cookie(text.cookie_match->first & text.cookie_match->second);
    filter.set_cookie_mask(text.cookie_match->second);
  } else if (text.has_cookie) {
    filter.set_cookie(text.spec.cookie());
    filter.set_cookie_mask(~uint64_t{0});
  }
  if (text.out_port) filter.set_out_port(*text.out_port);
  return filter;
}

v1::FlowKey ToKey(const FlowText& text) {
  v1::FlowKey key;
  v1::FlowIdentity* identity = key.mutable_identity();
  identity->set_table_id(text.spec.table_id());
  identity->set_priority(text.spec.priority());
  *identity->mutable_match() = text.spec.match();
  return key;
}

absl::Status ForEachFlowLine(absl::string_view text,
                             const std::function<absl::Status(absl::string_view line, int number)>& visit) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const absl::string_view line = WithoutComment(text.substr(0, end));
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (absl::Status status = visit(line, number); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace sluice::client
