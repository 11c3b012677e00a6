#include "client/output.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::client {
namespace {

// Bytes that begin a character of UTF-8.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// With a factor or without: "12", "15.3M".
bool IsNumber(const std::string& text) {
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string::npos) return !text.empty();
  return end > 0 && end + 1 == text.size() && std::string_view("kMGT").find(text[end]) != std::string_view::npos;
}

}  // namespace

void TableText::Print(std::ostream& out) const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string& cell = rows_[r][i];
      const std::string padding(widths[i] - Width(cell), ' ');
      // A header stands where the cells below it stand.
      const bool right = IsNumber(rows_.size() > 1 ? rows_[std::max<size_t>(r, 1)][i] : cell);
      absl::StrAppend(&line, i > 0 ? "  " : "", right ? padding : "", cell, right ? "" : padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string out;
  if (!google::protobuf::util::MessageToJsonString(message, &out, options).ok()) return "null";
  return out;
}

std::string JsonString(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, c));
    } else if (byte < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string JsonObject(std::initializer_list<std::pair<const char*, std::string>> members) {
  std::string out = "{";
  for (const auto& [name, json] : members) {
    absl::StrAppend(&out, out.size() > 1 ? ", " : "", JsonString(name), ": ", json);
  }
  return out + "}";
}

void JsonList::Begin() { out_ << "["; }

void JsonList::Add(const std::string& json) {
  out_ << (first_ ? "\n  " : ",\n  ") << json;
  first_ = false;
}

void JsonList::End() { out_ << (first_ ? "]" : "\n]"); }

}  // namespace sluice::client
