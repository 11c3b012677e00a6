// The parser against Open vSwitch's own: the same random frames, well-formed and
// damaged, through `ovs-ofctl parse-pcap`, which prints what it reads from each.
// What differs on purpose (parse.h) is spelled out in Expected().

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/packet/field.h"
#include "dataplane/packet/parse.h"
#include "tests/support/heap_frame.h"
#include "tests/support/random_packet.h"
#include "tests/support/reference_parser.h"

namespace sluice {
namespace {

using Fields = std::map<std::string, std::string>;

void WritePcap(const std::string& path, const std::vector<Bytes>& frames) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](std::initializer_list<uint32_t> words) {
    for (uint32_t word : words) file.write(reinterpret_cast<const char*>(&word), sizeof word);
  };
  put({0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1});
  for (const Bytes& frame : frames) {
    const auto size = static_cast<uint32_t>(frame.size());
    put({0, 0, size, size});
    file.write(reinterpret_cast<const char*>(frame.data()), size);
  }
}

std::vector<std::string> RunLines(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> block;
  while (size_t n = fread(block.data(), 1, block.size(), pipe)) text.append(block.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Open vSwitch's short names say EtherType and protocol.
const std::map<std::string, std::pair<std::string, std::string>>& ShortNames() {
  static const std::map<std::string, std::pair<std::string, std::string>> kNames = {
      {"ip", {"0x0800", ""}},     {"icmp", {"0x0800", "1"}},    {"igmp", {"0x0800", "2"}},   {"tcp", {"0x0800", "6"}},
      {"udp", {"0x0800", "17"}},  {"sctp", {"0x0800", "132"}},  {"ipv6", {"0x86dd", ""}},    {"tcp6", {"0x86dd", "6"}},
      {"udp6", {"0x86dd", "17"}}, {"sctp6", {"0x86dd", "132"}}, {"icmp6", {"0x86dd", "58"}}, {"arp", {"0x0806", ""}},
      {"rarp", {"0x8035", ""}},   {"mpls", {"0x8847", ""}},     {"mplsm", {"0x8848", ""}},
  };
  return kNames;
}

Fields ReadByOpenVswitch(const std::string& line) {
  Fields fields;
  std::istringstream stream(line);
  for (std::string item; std::getline(stream, item, ',');) {
    const size_t equals = item.find('=');
    if (equals != std::string::npos) {
      fields[item.substr(0, equals)] = item.substr(equals + 1);
    } else if (ShortNames().contains(item)) {
      fields["dl_type"] = ShortNames().at(item).first;
      if (!ShortNames().at(item).second.empty()) fields["nw_proto"] = ShortNames().at(item).second;
    }
  }
  return fields;
}

std::string Text(const char* format, unsigned value) {
  std::array<char, 32> text;
  snprintf(text.data(), text.size(), format, value);
  return text.data();
}

unsigned Number(const PacketKey& key, Field field) { return static_cast<unsigned>(GetField(key, field)); }

std::string Mac(const uint8_t* bytes) {
  std::string text;
  for (int i = 0; i < 6; ++i) text += Text(i == 0 ? "%02x" : ":%02x", bytes[i]);
  return text;
}

std::string Ipv4(unsigned address) {
  return std::to_string(address >> 24) + Text(".%u", address >> 16 & 255) + Text(".%u", address >> 8 & 255) +
         Text(".%u", address & 255);
}

// The low bits first, as Open vSwitch names them.
std::string TcpFlags(unsigned flags) {
  static constexpr const char* kNames[] = {"fin", "syn", "rst", "psh",   "ack",   "urg",
                                           "ece", "cwr", "ns",  "[200]", "[400]", "[800]"};
  std::string text;
  for (unsigned i = 0; i < std::size(kNames); ++i) {
    if ((flags >> i & 1) != 0) text += (text.empty() ? "" : "|") + std::string(kNames[i]);
  }
  return text.empty() ? "0" : text;
}

// Absent is zero there.
void AddNeighbor(const PacketKey& key, Fields& fields) {
  if ((Number(key, Field::kIcmpv6Type) != 135 && Number(key, Field::kIcmpv6Type) != 136) ||
      Number(key, Field::kIcmpv6Code) != 0 || (key.present & kPresentL4) == 0) {
    return;
  }
  fields["nd_sll"] = Mac(key.arp_sha);
  fields["nd_tll"] = Mac(key.arp_tha);
}

void AddTransport(const PacketKey& key, const Fields& theirs, Fields& fields) {
  if (theirs.contains("icmp_type")) {
    fields["icmp_type"] = Text("%u", Number(key, Field::kIcmpv4Type));
    fields["icmp_code"] = Text("%u", Number(key, Field::kIcmpv4Code));
  } else if (key.ip_frag == 3) {
    return;
  } else if (key.ip_proto == 6 || key.ip_proto == 17 || key.ip_proto == 132) {
    // Printed for some other protocols too (ICMP in IPv6, IGMP), of no use to a match.
    fields["tp_src"] = Text("%u", Number(key, Field::kTcpSrc));
    fields["tp_dst"] = Text("%u", Number(key, Field::kTcpDst));
    if (key.ip_proto == 6) fields["tcp_flags"] = TcpFlags(Number(key, Field::kTcpFlags));
  }
}

void AddMpls(const PacketKey& key, Fields& fields) {
  fields["mpls_label"] = Text("%u", Number(key, Field::kMplsLabel));
  fields["mpls_tc"] = Text("%u", Number(key, Field::kMplsTc));
  fields["mpls_bos"] = Text("%u", Number(key, Field::kMplsBos));
  fields["mpls_ttl"] = Text("%u", Number(key, Field::kMplsTtl));
}

void AddArp(const PacketKey& key, Fields& fields) {
  const unsigned op = Number(key, Field::kArpOp);
  fields["arp_op"] = Text("%u", op > 255 ? 0 : op);  // it keeps one byte of it
  fields["arp_spa"] = Ipv4(Number(key, Field::kArpSpa));
  fields["arp_tpa"] = Ipv4(Number(key, Field::kArpTpa));
  fields["arp_sha"] = Mac(key.arp_sha);
  fields["arp_tha"] = Mac(key.arp_tha);
}

// What Open vSwitch should have printed, of the fields that we have too.
Fields Expected(const PacketKey& key, const Fields& theirs) {
  Fields fields;
  const unsigned type = Number(key, Field::kEthType);
  fields["dl_dst"] = Mac(key.eth_dst);
  fields["dl_src"] = Mac(key.eth_src);
  fields["dl_type"] = Text("0x%04x", type);
  if (Number(key, Field::kVlanPresent) == 1) {
    fields["dl_vlan"] = Text("%u", Number(key, Field::kVlanVid));
    fields["dl_vlan_pcp"] = Text("%u", Number(key, Field::kVlanPcp));
  } else {
    fields["vlan_tci"] = "0x0000";
  }
  if (Number(key, Field::kInnerVlanPresent) == 1) {
    fields["dl_vlan1"] = Text("%u", Number(key, Field::kInnerVlanVid));
    fields["dl_vlan_pcp1"] = Text("%u", Number(key, Field::kInnerVlanPcp));
  }
  if (type == 0x8847 || type == 0x8848) AddMpls(key, fields);
  if (type == 0x0806) AddArp(key, fields);
  if (type == 0x0800) {
    fields["nw_src"] = Ipv4(Number(key, Field::kIpv4Src));
    fields["nw_dst"] = Ipv4(Number(key, Field::kIpv4Dst));
  }
  if (type == 0x0800 || type == 0x86dd) {
    static constexpr const char* kFragments[] = {"no", "first", "", "later"};
    fields["nw_proto"] = Text("%u", key.ip_proto);
    fields["nw_tos"] = Text("%u", key.ip_tos & 0xfcu);
    fields["nw_ecn"] = Text("%u", key.ip_tos & 3u);
    fields["nw_ttl"] = Text("%u", key.ip_ttl);
    fields["nw_frag"] = kFragments[key.ip_frag];
    if (type == 0x86dd) fields["ipv6_label"] = Text("0x%05x", Number(key, Field::kIpv6Label));
    if (type == 0x86dd && key.ip_proto == 58) AddNeighbor(key, fields);
    AddTransport(key, theirs, fields);
  }
  return fields;
}

// It takes packets of any IP version for what the EtherType says.
bool HasWrongIpVersion(const Bytes& frame) {
  const ReferenceResult r = ReferenceParse(frame, 0);
  if (r.result != ParseResult::kMalformed) return false;
  const size_t l3 = 14 + 4u * r.layout.vlan_tags;
  for (size_t at : {l3, l3 + 8}) {
    if (at >= frame.size()) continue;
    if (r.layout.eth_type == 0x0800 && frame[at] >> 4 != 4) return true;
    if (r.layout.eth_type == 0x86dd && frame[at] >> 4 != 6) return true;
  }
  return false;
}

void Compare(const std::vector<Bytes>& frames) {
  const std::string path = testing::TempDir() + "/parse_oracle_test." + std::to_string(getpid()) + ".pcap";
  WritePcap(path, frames);
  const std::vector<std::string> lines = RunLines("ovs-ofctl parse-pcap " + path);
  std::remove(path.c_str());
  ASSERT_EQ(lines.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    HeapFrame frame(frames[i]);
    PacketKey key{};
    HeaderLayout layout;
    Parse(frame.frame(), 0, key, layout);
    Fields theirs = ReadByOpenVswitch(lines[i]);
    // What it does not print is not there.
    ASSERT_EQ(theirs.contains("dl_vlan1"), key.inner_vlan_tci != 0) << ToHex(frames[i]) << "\n" << lines[i];
    const Fields expected = Expected(key, theirs);
    if (expected.contains("nd_sll")) {
      ASSERT_EQ(Bytes(key.nd_target, key.nd_target + 16), Ipv6Bytes(theirs["nd_target"])) << ToHex(frames[i]);
    }
    for (const auto& [name, value] : expected) {
      ASSERT_EQ(theirs[name], value) << name << " of " << ToHex(frames[i]) << "\n" << lines[i];
    }
    if (layout.eth_type == 0x86dd) {
      ASSERT_EQ(Bytes(key.ipv6_src, key.ipv6_src + 16), Ipv6Bytes(theirs["ipv6_src"])) << ToHex(frames[i]);
      ASSERT_EQ(Bytes(key.ipv6_dst, key.ipv6_dst + 16), Ipv6Bytes(theirs["ipv6_dst"])) << ToHex(frames[i]);
    }
  }
}

class ParseOracle : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("ovs-ofctl --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "Open vSwitch is not installed";
  }
};

TEST_F(ParseOracle, WellFormedFrames) {
  Random random(11);
  std::vector<Bytes> frames;
  for (int i = 0; i < 20000; ++i) frames.push_back(RandomFrame(random));
  Compare(frames);
}

TEST_F(ParseOracle, DamagedFrames) {
  Random random(12);
  std::vector<Bytes> frames;
  while (frames.size() < 60000) {
    Bytes frame = RandomDamagedFrame(random);
    if (frame.size() >= 14 && !HasWrongIpVersion(frame)) frames.push_back(std::move(frame));
  }
  Compare(frames);
}

}  // namespace
}  // namespace sluice
