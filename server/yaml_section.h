// Reads a YAML map with everything known about its keys: which there are, of
// what type, in which range; and says where in the file something is wrong.
//
// A section's keys are asked for one by one; End() then refuses the keys that
// nobody asked for. Of all complaints the one that stands first in the file is
// kept. Throws whatever yaml-cpp throws: the caller catches (ParseConfig).
//
// Not for several threads.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "yaml-cpp/yaml.h"

namespace sluice {

class YamlErrors {
 public:
  explicit YamlErrors(std::string file) : file_(std::move(file)) {}

  void Add(const YAML::Mark& mark, absl::string_view text);
  // OK, or "FILE:LINE:COL: text".
  absl::Status status() const;

 private:
  std::string file_;
  std::string text_;
  int line_ = 0;  // from 1; 0: no error
  int column_ = 0;
};

class YamlSection {
 public:
  // `name` is how messages call it. A node that is null counts as an empty map.
  YamlSection(YamlErrors& errors, const YAML::Node& node, std::string name);

  bool Has(absl::string_view key) const;
  // Each leaves `out` as it is if the key is absent or wrong.
  void Bool(absl::string_view key, bool& out);
  template <typename T>
  void Number(absl::string_view key, T& out, uint64_t min, uint64_t max) {
    uint64_t value = 0;
    if (ReadNumber(key, min, max, value)) out = static_cast<T>(value);
  }
  void Text(absl::string_view key, std::string& out);
  template <typename T>
  void Choice(absl::string_view key, std::initializer_list<std::pair<const char*, T>> choices, T& out) {
    std::vector<std::string> names;
    for (const auto& choice : choices) names.emplace_back(choice.first);
    const int index = ReadChoice(key, names);
    if (index >= 0) out = choices.begin()[index].second;
  }
  // Lists; `marks` gets the place of each item.
  void TextList(absl::string_view key, std::vector<std::string>& out, std::vector<YAML::Mark>* marks = nullptr);
  void NumberList(absl::string_view key, std::vector<unsigned>& out, uint64_t max);
  // The map under a key; empty if it is absent.
  YamlSection Section(absl::string_view key);
  std::vector<YamlSection> Sections(absl::string_view key);

  // Complains about a key's value, or about the section if it is absent.
  void Fail(absl::string_view key, absl::string_view text);
  void FailAt(const YAML::Mark& mark, absl::string_view text) { errors_->Add(mark, text); }
  // Last: refuses unknown keys.
  void End();

  const std::string& name() const { return name_; }

 private:
  struct Entry {
    std::string key;
    YAML::Mark mark;        // of the key
    YAML::Mark value_mark;  // of the value; of the key if there is none
    YAML::Node value;
    bool asked = false;
  };

  using Lines = absl::flat_hash_map<std::string, int>;  // where each key stands first

  Entry* Find(absl::string_view key);
  void AddEntry(const YAML::Node& key, const YAML::Node& value, Lines& lines);
  bool ReadNumber(absl::string_view key, uint64_t min, uint64_t max, uint64_t& out);
  int ReadChoice(absl::string_view key, const std::vector<std::string>& names);
  bool NumberOf(const YAML::Node& node, const YAML::Mark& mark, absl::string_view what, uint64_t min, uint64_t max,
                uint64_t& out);
  bool TextOf(const YAML::Node& node, const YAML::Mark& mark, absl::string_view what, std::string& out);
  std::string Full(absl::string_view key) const;

  YamlErrors* errors_;
  std::string name_;  // empty: the whole file
  YAML::Mark mark_;
  std::vector<Entry> entries_;
  std::vector<std::string> known_;  // keys asked for
};

}  // namespace sluice
