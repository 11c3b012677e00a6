// Tables for people and JSON for programs. One thread.

#pragma once

#include <google/protobuf/message.h>

#include <initializer_list>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace sluice::client {

// Columns as wide as their widest cell. Cells that are numbers stand right.
class TableText {
 public:
  explicit TableText(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void Print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// As protobuf writes it: names as in the .proto files, 64-bit numbers as
// strings, zeros written out.
std::string ToJson(const google::protobuf::Message& message);

// A string as JSON, in its quotes.
std::string JsonString(const std::string& text);

// {"name": value, …} of values that are JSON already.
std::string JsonObject(std::initializer_list<std::pair<const char*, std::string>> members);

// Prints [a, b, …] piece by piece, so that a long list need not be in memory.
class JsonList {
 public:
  explicit JsonList(std::ostream& out) : out_(out) {}
  void Begin();
  void Add(const std::string& json);
  void End();

 private:
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace sluice::client
