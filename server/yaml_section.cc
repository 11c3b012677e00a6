#include "server/yaml_section.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "server/quote.h"

namespace sluice {
namespace {

// What yaml-cpp gives as the tag of a scalar without quotes.
constexpr absl::string_view kPlain = "?";

std::string KindOf(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return node.Tag() == kPlain ? Quoted(node.Scalar()) : absl::StrCat("the text ", Quoted(node.Scalar()));
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a map";
    default:
      return "nothing";
  }
}

}  // namespace

void YamlErrors::Add(const YAML::Mark& mark, absl::string_view text) {
  const int line = mark.is_null() ? 1 : mark.line + 1;
  const int column = mark.is_null() ? 1 : mark.column + 1;
  if (line_ != 0 && std::pair(line_, column_) <= std::pair(line, column)) return;
  line_ = line;
  column_ = column;
  text_ = OneLine(text);
}

absl::Status YamlErrors::status() const {
  if (line_ == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file_, ":", line_, ":", column_, ": ", text_));
}

YamlSection::YamlSection(YamlErrors& errors, const YAML::Node& node, std::string name)
    : errors_(&errors), name_(std::move(name)), mark_(node.Mark()) {
  if (node.IsMap()) {
    Lines lines;
    for (const auto& entry : node) AddEntry(entry.first, entry.second, lines);
  } else if (!node.IsNull()) {
    errors_->Add(mark_, absl::StrCat(name_.empty() ? "the file" : name_, " is ", KindOf(node),
                                     "; a map (key: value) would be right"));
  }
}

void YamlSection::AddEntry(const YAML::Node& key, const YAML::Node& value, Lines& lines) {
  // A plain null is no text to YAML, but "null" is a key of ours.
  if (!key.IsScalar() && !key.IsNull()) {
    errors_->Add(key.Mark(), absl::StrCat("a key is ", KindOf(key), "; a word would be right"));
    return;
  }
  Entry entry{key.IsNull() ? "null" : key.Scalar(), key.Mark(), value.IsNull() ? key.Mark() : value.Mark(), value};
  const auto [first, is_new] = lines.try_emplace(entry.key, entry.mark.line + 1);
  if (is_new) {
    entries_.push_back(std::move(entry));
  } else {
    errors_->Add(entry.mark, absl::StrCat(Quoted(Full(entry.key)), " stands twice, first in line ", first->second,
                                          "; once would be right"));
  }
}

YamlSection::Entry* YamlSection::Find(absl::string_view key) {
  known_.emplace_back(key);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.asked = true;
    return &entry;
  }
  return nullptr;
}

bool YamlSection::Has(absl::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(), [key](const Entry& entry) { return entry.key == key; });
}

std::string YamlSection::Full(absl::string_view key) const {
  return name_.empty() ? std::string(key) : absl::StrCat(name_, ".", key);
}

void YamlSection::Bool(absl::string_view key, bool& out) {
  const Entry* entry = Find(key);
  if (entry == nullptr) return;
  const YAML::Node& node = entry->value;
  const bool plain = node.IsScalar() && node.Tag() == kPlain;
  if (plain && (node.Scalar() == "true" || node.Scalar() == "false")) {
    out = node.Scalar() == "true";
  } else {
    errors_->Add(entry->value_mark, absl::StrCat(Full(key), " is ", KindOf(node), "; true or false would be right"));
  }
}

bool YamlSection::NumberOf(const YAML::Node& node, const YAML::Mark& mark, absl::string_view what, uint64_t min,
                           uint64_t max, uint64_t& out) {
  // Digits only: what YAML 1.1 takes for octal, and signs, fractions and
  // underscores, are not what anyone means here.
  if (node.IsScalar() && node.Tag() == kPlain) {
    const std::string& text = node.Scalar();
    const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
    const bool octal = text.size() > 1 && text[0] == '0';
    if (digits && !octal && absl::SimpleAtoi(text, &out) && out >= min && out <= max) return true;
  }
  errors_->Add(mark, absl::StrCat(what, " is ", KindOf(node), "; a number from ", min, " to ", max, " would be right"));
  return false;
}

bool YamlSection::ReadNumber(absl::string_view key, uint64_t min, uint64_t max, uint64_t& out) {
  const Entry* entry = Find(key);
  return entry != nullptr && NumberOf(entry->value, entry->value_mark, Full(key), min, max, out);
}

bool YamlSection::TextOf(const YAML::Node& node, const YAML::Mark& mark, absl::string_view what, std::string& out) {
  if (!node.IsScalar()) {
    errors_->Add(mark, absl::StrCat(what, " is ", KindOf(node), "; text would be right"));
    return false;
  }
  // It ends up in file names and device arguments, where C strings end at it.
  if (node.Scalar().find('\0') != std::string::npos) {
    errors_->Add(mark, absl::StrCat(what, " has a NUL character; text without would be right"));
    return false;
  }
  out = node.Scalar();
  return true;
}

void YamlSection::Text(absl::string_view key, std::string& out) {
  const Entry* entry = Find(key);
  if (entry != nullptr) TextOf(entry->value, entry->value_mark, Full(key), out);
}

int YamlSection::ReadChoice(absl::string_view key, const std::vector<std::string>& names) {
  const Entry* entry = Find(key);
  if (entry == nullptr) return -1;
  for (size_t i = 0; i < names.size(); ++i) {
    if (entry->value.IsScalar() && entry->value.Scalar() == names[i]) return static_cast<int>(i);
  }
  errors_->Add(entry->value_mark, absl::StrCat(Full(key), " is ", KindOf(entry->value), "; ",
                                               absl::StrJoin(names, ", "), " would be right"));
  return -1;
}

void YamlSection::TextList(absl::string_view key, std::vector<std::string>& out, std::vector<YAML::Mark>* marks) {
  const Entry* entry = Find(key);
  if (entry == nullptr) return;
  if (!entry->value.IsSequence()) {
    errors_->Add(entry->value_mark,
                 absl::StrCat(Full(key), " is ", KindOf(entry->value), "; a list of texts ([a, b]) would be right"));
    return;
  }
  std::vector<std::string> texts;
  std::vector<YAML::Mark> places;
  for (const YAML::Node& item : entry->value) {
    std::string text;
    places.push_back(item.IsNull() ? entry->value_mark : item.Mark());
    if (!TextOf(item, places.back(), absl::StrCat(Full(key), "[", texts.size(), "]"), text)) return;
    texts.push_back(std::move(text));
  }
  out = std::move(texts);
  if (marks != nullptr) *marks = std::move(places);
}

void YamlSection::NumberList(absl::string_view key, std::vector<unsigned>& out, uint64_t max) {
  const Entry* entry = Find(key);
  if (entry == nullptr) return;
  if (!entry->value.IsSequence()) {
    errors_->Add(entry->value_mark,
                 absl::StrCat(Full(key), " is ", KindOf(entry->value), "; a list of numbers ([2, 3]) would be right"));
    return;
  }
  std::vector<unsigned> numbers;
  for (const YAML::Node& item : entry->value) {
    uint64_t number = 0;
    const YAML::Mark place = item.IsNull() ? entry->value_mark : item.Mark();
    if (!NumberOf(item, place, absl::StrCat(Full(key), "[", numbers.size(), "]"), 0, max, number)) return;
    numbers.push_back(static_cast<unsigned>(number));
  }
  out = std::move(numbers);
}

YamlSection YamlSection::Section(absl::string_view key) {
  const Entry* entry = Find(key);
  return YamlSection(*errors_, entry == nullptr ? YAML::Node() : entry->value, Full(key));
}

std::vector<YamlSection> YamlSection::Sections(absl::string_view key) {
  std::vector<YamlSection> sections;
  const Entry* entry = Find(key);
  if (entry == nullptr || entry->value.IsNull()) return sections;
  if (!entry->value.IsSequence()) {
    errors_->Add(entry->value_mark,
                 absl::StrCat(Full(key), " is ", KindOf(entry->value), "; a list of maps would be right"));
    return sections;
  }
  for (const YAML::Node& item : entry->value) {
    std::string name = absl::StrCat(Full(key), "[", sections.size(), "]");
    if (item.IsNull()) errors_->Add(entry->value_mark, absl::StrCat(name, " is empty; a map would be right"));
    sections.emplace_back(*errors_, item, std::move(name));
  }
  return sections;
}

void YamlSection::Fail(absl::string_view key, absl::string_view text) {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return errors_->Add(entry.value_mark, text);
  }
  errors_->Add(mark_, text);
}

void YamlSection::End() {
  for (const Entry& entry : entries_) {
    if (entry.asked) continue;
    errors_->Add(entry.mark, absl::StrCat("unknown key ", Quoted(Full(entry.key)), "; known ",
                                          name_.empty() ? "at the top" : absl::StrCat("in ", name_), ": ",
                                          absl::StrJoin(known_, ", ")));
  }
}

}  // namespace sluice
