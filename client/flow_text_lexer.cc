#include "client/flow_text_lexer.h"

#include "absl/strings/match.h"

namespace sluice::client {
namespace {

constexpr absl::string_view kSeparators = ", \t\r\n";

}  // namespace

size_t Lexer::EndOfQuoted(size_t at, bool* unclosed) const {
  const size_t end = text_.find('"', at + 1);
  if (end != absl::string_view::npos) return end + 1;
  *unclosed = true;
  return text_.size();
}

size_t Lexer::EndOfValue(size_t at, absl::string_view delimiters, bool* unclosed) const {
  int level = 0;
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == '"') {
      at = EndOfQuoted(at, unclosed);
      continue;
    }
    if (level == 0 && delimiters.find(c) != absl::string_view::npos) return at;
    if (c == '(') ++level;
    if (c == ')' && level > 0) --level;
    ++at;
  }
  *unclosed = *unclosed || level > 0 || delimiters == ")";
  return at;
}

bool Lexer::Next(Token* token) {
  at_ = text_.find_first_not_of(kSeparators, at_);
  if (at_ == absl::string_view::npos) {
    at_ = text_.size();
    return false;
  }
  *token = Token{};
  const size_t key = at_;
  token->key_column = Column(key);
  at_ = text_[key] == '"' ? EndOfQuoted(key, &token->unclosed) : text_.find_first_of(":=(, \t\r\n", key);
  if (at_ == absl::string_view::npos) at_ = text_.size();
  token->key = text_.substr(key, at_ - key);
  const char delimiter = at_ < text_.size() ? text_[at_] : '\0';
  if (delimiter != '=' && delimiter != ':' && delimiter != '(') return true;
  token->delimiter = delimiter;
  const size_t value = ++at_;
  token->value_column = Column(value);
  size_t end = EndOfValue(value, delimiter == '(' ? ")" : kSeparators, &token->unclosed);
  at_ = end + (delimiter == '(' && end < text_.size() ? 1 : 0);
  if (delimiter == '(' && absl::StartsWith(text_.substr(at_), "->")) {  // KEY(VALUE)->DESTINATION
    end = at_ = EndOfValue(at_, kSeparators, &token->unclosed);
  }
  token->value = text_.substr(value, end - value);
  return true;
}

}  // namespace sluice::client
