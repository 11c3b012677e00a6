// What is written is what the format says, block by block, and what libpcap reads.

#include "client/pcapng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "client/capture_file.h"

namespace sluice::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr int64_t kTime = 1'700'000'000'123'456'789;

class Folder {
 public:
  Folder() : path_(::testing::TempDir() + "/pcapng-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

uint32_t U32(const std::string& bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
uint16_t U16(const std::string& bytes, size_t at) {
  uint16_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Block {
  uint32_t type;
  std::string body;

  // Options from an offset on; the end must be marked, and nothing behind it.
  std::multimap<uint16_t, std::string> OptionsFrom(size_t at) const {
    std::multimap<uint16_t, std::string> options;
    for (;;) {
      if (at + 4 > body.size()) {
        ADD_FAILURE() << "options without an end";
        return options;
      }
      const uint16_t code = U16(body, at), length = U16(body, at + 2);
      if (code == 0) {
        EXPECT_EQ(length, 0u);
        EXPECT_EQ(at + 4, body.size());
        return options;
      }
      options.emplace(code, body.substr(at + 4, length));
      at += 4 + (length + 3u) / 4 * 4;
    }
  }
};

std::vector<Block> BlocksOf(const std::string& file) {
  std::vector<Block> blocks;
  for (size_t at = 0; at < file.size();) {
    const uint32_t length = U32(file, at + 4);
    EXPECT_EQ(length % 4, 0u);
    if (length < 12 || at + length > file.size()) {
      ADD_FAILURE() << "a block of " << length << " bytes";
      break;
    }
    EXPECT_EQ(U32(file, at + length - 4), length);
    blocks.push_back({U32(file, at), file.substr(at + 8, length - 12)});
    at += length;
  }
  return blocks;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct ReadPacket {
  int64_t time_unix_ns;
  uint32_t length;
  std::string data;
};

// By libpcap; a damaged file fails.
std::vector<ReadPacket> ReadByLibpcap(const std::string& path) {
  char error[PCAP_ERRBUF_SIZE] = "";
  pcap_t* pcap = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
  std::vector<ReadPacket> packets;
  if (pcap == nullptr) {
    ADD_FAILURE() << error;
    return packets;
  }
  EXPECT_EQ(pcap_datalink(pcap), DLT_EN10MB);
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(pcap, &header, &data)) == 1) {
    packets.push_back({int64_t{header->ts.tv_sec} * 1'000'000'000 + header->ts.tv_usec, header->len,
                       std::string(reinterpret_cast<const char*>(data), header->caplen)});
  }
  EXPECT_EQ(result, PCAP_ERROR_BREAK) << pcap_geterr(pcap);
  pcap_close(pcap);
  return packets;
}

TEST(PcapngTest, BlocksAreAsTheFormatSays) {
  PcapngWriter writer("app", 96);
  EXPECT_EQ(writer.AddInterface("veth0"), 0u);
  EXPECT_EQ(writer.AddInterface("b"), 1u);
  writer.AddPacket({.interface = 1,
                    .time_unix_ns = kTime,
                    .length = 1500,
                    .data = "abcde",
                    .direction = PcapngWriter::Direction::kOutbound,
                    .comment = "dropped: ttl"});
  writer.AddStatistics(1, kTime + 1, 77, "3 missed");
  const std::vector<Block> blocks = BlocksOf(writer.Take());
  ASSERT_THAT(blocks, SizeIs(5));
  EXPECT_EQ(blocks[0].type, 0x0a0d0d0au);
  EXPECT_EQ(blocks[0].body.substr(0, 16), std::string("\x4d\x3c\x2b\x1a\1\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16));
  EXPECT_THAT(blocks[0].OptionsFrom(16), ElementsAre(Pair(4, "app")));

  EXPECT_EQ(blocks[1].type, 1u);
  EXPECT_EQ(blocks[1].body.substr(0, 8), std::string("\1\0\0\0\x60\0\0\0", 8));
  EXPECT_THAT(blocks[1].OptionsFrom(8), ElementsAre(Pair(2, "veth0"), Pair(9, "\x09")));
  EXPECT_THAT(blocks[2].OptionsFrom(8), ElementsAre(Pair(2, "b"), Pair(9, "\x09")));

  const Block& packet = blocks[3];
  EXPECT_EQ(packet.type, 6u);
  EXPECT_EQ(U32(packet.body, 0), 1u);
  EXPECT_EQ(int64_t{U32(packet.body, 4)} << 32 | U32(packet.body, 8), kTime);
  EXPECT_EQ(U32(packet.body, 12), 5u);
  EXPECT_EQ(U32(packet.body, 16), 1500u);
  EXPECT_EQ(packet.body.substr(20, 8), std::string("abcde\0\0\0", 8));
  EXPECT_THAT(packet.OptionsFrom(28), ElementsAre(Pair(1, "dropped: ttl"), Pair(2, std::string("\2\0\0\0", 4))));

  const Block& statistics = blocks[4];
  EXPECT_EQ(statistics.type, 5u);
  EXPECT_EQ(U32(statistics.body, 0), 1u);
  EXPECT_EQ(int64_t{U32(statistics.body, 4)} << 32 | U32(statistics.body, 8), kTime + 1);
  EXPECT_THAT(statistics.OptionsFrom(12), ElementsAre(Pair(1, "3 missed"), Pair(3, statistics.body.substr(4, 8)),
                                                      Pair(8, std::string("\x4d\0\0\0\0\0\0\0", 8))));
  EXPECT_THAT(writer.Take(), IsEmpty());
}

TEST(PcapngTest, LibpcapReadsWhatWasWritten) {
  const Folder folder;
  PcapngWriter writer("app", 0);
  std::ofstream file(folder / "a.pcapng", std::ios::binary);
  std::vector<std::string> frames;
  for (size_t i = 0; i < 100; ++i) {
    // Interfaces come as their first packets do.
    if (i % 25 == 0) writer.AddInterface("port" + std::to_string(i));
    std::string frame(i == 50 ? 65'535 : 14 + i, '\0');
    for (size_t at = 0; at < frame.size(); ++at) frame[at] = static_cast<char>(at * 7 + i);
    frames.push_back(frame);
    writer.AddPacket({.interface = static_cast<uint32_t>(i / 25),
                      .time_unix_ns = kTime + static_cast<int64_t>(i),
                      .length = static_cast<uint32_t>(frame.size() + i),
                      .data = frame,
                      .comment = std::string(i, 'c')});
    file << writer.Take();
  }
  for (uint32_t i = 0; i < 4; ++i) writer.AddStatistics(i, kTime + 1000, 25, "");
  file << writer.Take();
  file.close();
  const std::vector<ReadPacket> read = ReadByLibpcap(folder / "a.pcapng");
  ASSERT_THAT(read, SizeIs(100));
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].data, frames[i]);
    EXPECT_EQ(read[i].length, frames[i].size() + i);
    EXPECT_EQ(read[i].time_unix_ns, kTime + static_cast<int64_t>(i));
  }
}

// Programs that people look at captures with, where there are any.
TEST(PcapngTest, TcpdumpReadsIt) {
  if (std::system("command -v tcpdump >/dev/null") != 0) GTEST_SKIP() << "no tcpdump";
  const Folder folder;
  std::string frame(60, '\x02');
  frame.replace(12, 2, "\x88\xb5");
  PcapngWriter writer("app", 0);
  writer.AddInterface("a");
  writer.AddPacket({.interface = 0, .time_unix_ns = kTime, .length = 60, .data = frame});
  writer.AddStatistics(0, kTime, 1, "0 missed");
  std::ofstream(folder / "a.pcapng", std::ios::binary) << writer.Take();
  EXPECT_EQ(
      std::system(("test $(tcpdump -nr " + folder / "a.pcapng" + " 2>/dev/null | grep -c 'length 60') = 1").c_str()),
      0);
}

v1::CapturedPacket Captured(v1::CaptureDirection direction, uint32_t port, const std::string& data) {
  v1::CapturedPacket packet;
  packet.set_data(data);
  packet.set_length(static_cast<uint32_t>(data.size()));
  packet.mutable_time()->set_seconds(kTime / 1'000'000'000);
  packet.mutable_time()->set_nanos(kTime % 1'000'000'000);
  packet.set_port(port);
  packet.set_direction(direction);
  return packet;
}

// What a file says besides bytes, packet by packet and interface by interface.
struct Notes {
  std::vector<std::string> names, comments, statistics;
  std::vector<uint32_t> directions, interfaces;
};

Notes NotesOf(const std::string& file) {
  Notes notes;
  for (const Block& block : BlocksOf(file)) {
    if (block.type == 1) notes.names.push_back(block.OptionsFrom(8).find(2)->second);
    if (block.type == 5) notes.statistics.push_back(block.OptionsFrom(12).find(1)->second);
    if (block.type != 6) continue;
    const auto options = block.OptionsFrom(20 + (U32(block.body, 12) + 3) / 4 * 4);
    notes.interfaces.push_back(U32(block.body, 0));
    notes.directions.push_back(U32(options.find(2)->second, 0));
    notes.comments.push_back(options.count(1) != 0 ? options.find(1)->second : "");
  }
  return notes;
}

TEST(CaptureFileTest, AnInterfaceAPortAndWhatIsKnownOfEachPacket) {
  const Folder folder;
  const std::string path = folder / "a.pcapng";
  auto file = CaptureFile::Open(path, 0);
  ASSERT_TRUE(file.ok()) << file.status();
  (*file)->AddPort(7, "p7");
  v1::CapturedPacket dropped = Captured(v1::CAPTURE_DIRECTION_DROPPED, 7, "a frame that is gone");
  dropped.set_drop_reason("mtu");
  dropped.set_on_way_out(true);
  v1::CapturedPacket late = Captured(v1::CAPTURE_DIRECTION_IN, 9, "of a port that came later");
  late.set_port_name("p9");
  v1::CapturedPacket matched = Captured(v1::CAPTURE_DIRECTION_MATCHED, 0, "of no port");
  matched.set_flow_id(44);
  (*file)->Add(dropped);
  (*file)->Add(late);
  ASSERT_TRUE((*file)->Flush().ok());
  // What is flushed is there before the end.
  EXPECT_THAT(ReadByLibpcap(path), SizeIs(2));
  (*file)->Add(matched);
  ASSERT_TRUE((*file)->Close(kTime, "5 missed").ok());

  const Notes notes = NotesOf(ReadFile(path));
  EXPECT_THAT(notes.names, ElementsAre("p7", "p9", "none"));
  EXPECT_THAT(notes.interfaces, ElementsAre(0, 1, 2));
  EXPECT_THAT(notes.directions, ElementsAre(2, 1, 1));
  EXPECT_THAT(notes.comments, ElementsAre("dropped on the way out: mtu", "", "flow 44"));
  EXPECT_THAT(notes.statistics, ElementsAre("5 missed", "5 missed", "5 missed"));
  const std::vector<ReadPacket> read = ReadByLibpcap(path);
  ASSERT_THAT(read, SizeIs(3));
  EXPECT_EQ(read[0].data, "a frame that is gone");
  EXPECT_EQ(read[2].time_unix_ns, kTime);
}

TEST(CaptureFileTest, WhatCannotBeWrittenIsAnError) {
  const Folder folder;
  EXPECT_THAT(std::string(CaptureFile::Open(folder / "none/a", 0).status().message()), HasSubstr("none/a: "));
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  auto full = CaptureFile::Open("/dev/full", 0);
  ASSERT_TRUE(full.ok());
  EXPECT_THAT(std::string((*full)->Flush().message()), HasSubstr("No space left on device"));
  EXPECT_FALSE((*full)->Close(kTime, "").ok());
}

}  // namespace
}  // namespace sluice::client
