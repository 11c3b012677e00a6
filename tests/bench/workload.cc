#include "tests/bench/workload.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "dataplane/packet/parse.h"

namespace sluice {
namespace {

[[noreturn]] void Fail(absl::string_view what) {
  std::fprintf(stderr, "workload: %.*s\n", static_cast<int>(what.size()), what.data());
  std::exit(1);
}

uint64_t Number(absl::string_view text) {
  uint64_t number = 0;
  const bool hex = text.substr(0, 2) == "0x";
  if (hex ? !absl::SimpleHexAtoi(text, &number) : !absl::SimpleAtoi(text, &number)) Fail(text);
  return number;
}

uint64_t Mac(absl::string_view text) {
  uint64_t mac = 0;
  for (const absl::string_view byte : absl::StrSplit(text, ':'))
    mac = mac << 8 | std::stoul(std::string(byte), nullptr, 16);
  return mac;
}

uint64_t Ipv4(absl::string_view text) {
  uint64_t address = 0;
  for (const absl::string_view byte : absl::StrSplit(text, '.')) address = address << 8 | Number(byte);
  return address;
}

struct Condition {
  Field field;
  uint64_t (*read)(absl::string_view);
  uint64_t all;
};

const std::map<absl::string_view, Condition> kConditions = {
    {"in_port", {Field::kInPort, Number, 0xffffffff}}, {"nw_proto", {Field::kIpProto, Number, 0xff}},
    {"nw_src", {Field::kIpv4Src, Ipv4, 0xffffffff}},   {"nw_dst", {Field::kIpv4Dst, Ipv4, 0xffffffff}},
    {"dl_src", {Field::kEthSrc, Mac, 0xffffffffffff}}, {"dl_dst", {Field::kEthDst, Mac, 0xffffffffffff}},
};

void AddMasked(Match& match, const Condition& condition, absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  uint64_t mask = condition.all;
  if (parts.size() == 2 && condition.read == Ipv4 && parts[1].size() <= 2) {
    mask = Number(parts[1]) == 0 ? 0 : 0xffffffff & ~uint64_t{0} << (32 - Number(parts[1]));
  } else if (parts.size() == 2) {
    mask = condition.read(parts[1]);
  }
  MatchOn(match, condition.field, condition.read(parts[0]), mask);
}

FlowSpec FlowOf(absl::string_view line) {
  FlowSpec spec;
  uint64_t proto = 0;
  const size_t actions = line.find("actions=");
  for (const absl::string_view part : absl::StrSplit(line.substr(0, actions), ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (pair.first == "priority") {
      spec.priority = static_cast<uint16_t>(Number(pair.second));
    } else if (pair.first == "ip") {
      MatchOn(spec.match, Field::kEthType, 0x0800, 0xffff);
    } else if (pair.first == "tp_src" || pair.first == "tp_dst") {
      const bool source = pair.first == "tp_src";
      const Field field =
          proto == 6 ? (source ? Field::kTcpSrc : Field::kTcpDst) : (source ? Field::kUdpSrc : Field::kUdpDst);
      AddMasked(spec.match, {field, Number, 0xffff}, pair.second);
    } else {
      const auto condition = kConditions.find(pair.first);
      if (condition == kConditions.end()) Fail(part);
      if (pair.first == "nw_proto") proto = Number(pair.second);
      AddMasked(spec.match, condition->second, pair.second);
    }
  }
  spec.actions = {Action{.type = ActionType::kOutput, .port = 2}};
  return spec;
}

// Of a capture in this machine's byte order.
std::vector<PacketKey> KeysOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<PacketKey> keys;
  for (size_t at = 24; at + 16 <= bytes.size();) {
    uint32_t length;
    std::memcpy(&length, &bytes[at + 8], sizeof length);
    at += 16;
    if (at + length > bytes.size()) Fail(path);
    PacketKey key{};
    HeaderLayout layout;
    Frame frame{.data = reinterpret_cast<uint8_t*>(&bytes[at]), .length = length, .total = length, .headroom = 0};
    Parse(frame, 1, key, layout);
    keys.push_back(key);
    at += length;
  }
  if (keys.empty()) Fail(path);
  return keys;
}

}  // namespace

Workload ReadWorkload(const std::string& folder) {
  Workload workload;
  std::ifstream file(folder + "/flows.txt");
  for (std::string line; std::getline(file, line);) workload.flows.push_back(FlowOf(line));
  workload.keys = KeysOf(folder + "/packets.pcap");
  return workload;
}

}  // namespace sluice
