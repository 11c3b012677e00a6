// Cuts flow text into KEY, KEY=VALUE, KEY:VALUE and KEY(VALUE), separated by
// commas and white space, as ovs-ofctl does: a value ends at a separator that no
// parenthesis encloses. A part in double quotes is one word.
//
// Views into the text; nothing is copied. One thread.

#pragma once

#include "absl/strings/string_view.h"

namespace sluice::client {

struct Token {
  absl::string_view key;
  absl::string_view value;  // empty without one
  char delimiter = '\0';    // '=', ':' or '('; 0: no value was given
  int key_column = 0;       // counted from 1
  int value_column = 0;
  bool unclosed = false;  // a parenthesis or quote is still open at the end
};

class Lexer {
 public:
  explicit Lexer(absl::string_view text, int first_column = 1) : text_(text), first_column_(first_column) {}

  // False at the end.
  bool Next(Token* token);

  // What follows `at`, a view into the text: to be read by another lexer.
  absl::string_view From(absl::string_view at) const { return text_.substr(at.data() - text_.data()); }

 private:
  size_t EndOfValue(size_t at, absl::string_view delimiters, bool* unclosed) const;
  size_t EndOfQuoted(size_t at, bool* unclosed) const;
  int Column(size_t at) const { return first_column_ + static_cast<int>(at); }

  absl::string_view text_;
  int first_column_;
  size_t at_ = 0;
};

}  // namespace sluice::client
