// Capture files, made here byte for byte: pcap in both byte orders, pcapng,
// other link types, damage.

#include "client/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sluice::client {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Numbers in one byte order.
class Bytes {
 public:
  explicit Bytes(bool big_endian = false) : big_endian_(big_endian) {}
  Bytes& U16(uint32_t value) { return Number(value, 2); }
  Bytes& U32(uint32_t value) { return Number(value, 4); }
  Bytes& Data(const std::string& data) {
    bytes_ += data;
    return *this;
  }
  const std::string& str() const { return bytes_; }

 private:
  Bytes& Number(uint32_t value, int size) {
    for (int i = 0; i < size; ++i) {
      const int shift = 8 * (big_endian_ ? size - 1 - i : i);
      bytes_ += static_cast<char>(value >> shift & 0xff);
    }
    return *this;
  }
  bool big_endian_;
  std::string bytes_;
};

std::string Pcap(uint32_t link_type, const std::vector<std::string>& frames, bool big_endian = false) {
  Bytes bytes(big_endian);
  bytes.U32(0xa1b2c3d4).U16(2).U16(4).U32(0).U32(0).U32(262144).U32(link_type);
  for (const std::string& frame : frames) bytes.U32(1).U32(2).U32(frame.size()).U32(frame.size()).Data(frame);
  return bytes.str();
}

std::string Block(uint32_t type, std::string body) {
  body.resize((body.size() + 3) / 4 * 4);
  return Bytes().U32(type).U32(body.size() + 12).Data(body).U32(body.size() + 12).str();
}

std::string Pcapng(const std::vector<uint32_t>& link_types, const std::vector<std::string>& frames) {
  std::string out = Block(0x0a0d0d0a, Bytes().U32(0x1a2b3c4d).U16(1).U16(0).U32(0xffffffff).U32(0xffffffff).str());
  for (const uint32_t type : link_types) out += Block(1, Bytes().U16(type).U16(0).U32(262144).str());
  uint32_t interface = 0;
  for (const std::string& frame : frames) {
    out += Block(6, Bytes().U32(interface).U32(0).U32(0).U32(frame.size()).U32(frame.size()).Data(frame).str());
    interface = (interface + 1) % link_types.size();
  }
  return out;
}

class Capture : public testing::Test {
 protected:
  Capture() : folder_(testing::TempDir() + "capture_test_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Capture() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::string folder_;
};

const std::vector<std::string> kFrames = {std::string(60, 'a'), std::string(1, 'b'), std::string(9018, 'c')};

TEST_F(Capture, CountsPcapOfBothByteOrders) {
  EXPECT_EQ(ReadCapture(Write("little", Pcap(1, kFrames)))->frames, 3u);
  EXPECT_EQ(ReadCapture(Write("big", Pcap(1, kFrames, true)))->frames, 3u);
  EXPECT_EQ(ReadCapture(Write("empty", Pcap(1, {})))->frames, 0u);
}

TEST_F(Capture, KnowsTheLongestFrame) {
  EXPECT_EQ(ReadCapture(Write("some", Pcap(1, kFrames)))->longest, 9018u);
  EXPECT_EQ(ReadCapture(Write("none", Pcap(1, {})))->longest, 0u);
}

TEST_F(Capture, CountsPcapng) {
  EXPECT_EQ(ReadCapture(Write("one", Pcapng({1}, kFrames)))->frames, 3u);
  EXPECT_EQ(ReadCapture(Write("two", Pcapng({1, 1}, kFrames)))->frames, 3u);
}

TEST_F(Capture, RefusesOtherLinkTypesByName) {
  const std::string path = Write("sll", Pcap(113, kFrames));
  const absl::Status status = ReadCapture(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), path + ": its link type is Linux cooked v1 (LINUX_SLL); only Ethernet can be replayed");
  EXPECT_THAT(ReadCapture(Write("raw", Pcap(101, {}))).status().message(), HasSubstr("Raw IP (RAW)"));
  EXPECT_THAT(ReadCapture(Write("odd", Pcap(64999, {}))).status().message(), HasSubstr("number 64999"));
  EXPECT_THAT(ReadCapture(Write("ng", Pcapng({113}, kFrames))).status().message(), HasSubstr("Linux cooked"));
  // libpcap itself reads no file of several link types.
  EXPECT_FALSE(ReadCapture(Write("mixed", Pcapng({1, 113}, kFrames))).ok());
}

TEST_F(Capture, RefusesFilesThatEndTooEarly) {
  const std::string whole = Pcap(1, kFrames);
  for (const size_t cut : {size_t{1}, size_t{9018}, size_t{9018 + 15}}) {
    const std::string path = Write("cut", whole.substr(0, whole.size() - cut));
    const absl::Status status = ReadCapture(path).status();
    EXPECT_THAT(std::string(status.message()), StartsWith(path + ": frame 3: ")) << cut;
    EXPECT_THAT(status.message(), HasSubstr("truncated")) << cut;
  }
  const std::string ng = Pcapng({1}, kFrames);
  EXPECT_THAT(ReadCapture(Write("cut-ng", ng.substr(0, ng.size() - 5))).status().message(), HasSubstr(": frame 3: "));
  EXPECT_FALSE(ReadCapture(Write("head", whole.substr(0, 20))).ok());
}

TEST_F(Capture, RefusesWhatIsNoCapture) {
  const std::string path = Write("text", "this is no capture file at all, whatever it may be called");
  EXPECT_THAT(std::string(ReadCapture(path).status().message()),
              testing::AllOf(StartsWith(path + ": "), HasSubstr("unknown file format")));
  EXPECT_EQ(ReadCapture(Path("absent")).status().message(), Path("absent") + ": No such file or directory");
}

TEST_F(Capture, RefusesFramesThatNoSwitchCarries) {
  EXPECT_TRUE(ReadCapture(Write("most", Pcap(1, {std::string(65407, 'x')}))).ok());
  EXPECT_THAT(ReadCapture(Write("more", Pcap(1, {"x", std::string(65408, 'x')}))).status().message(),
              HasSubstr("frame 2 has 65408 bytes; at most 65407 can be replayed"));
}

TEST_F(Capture, JoinsInOrder) {
  const std::string a = Write("a", Pcap(1, {"one", "two"})), b = Write("b", Pcapng({1}, {"three"}));
  ASSERT_TRUE(JoinCaptures({b, a, b}, Path("out")).ok());
  EXPECT_EQ(ReadCapture(Path("out"))->frames, 4u);
  const std::string joined = Read(Path("out"));
  size_t at = 0;
  for (const std::string frame : {"three", "one", "two", "three"}) {
    at = joined.find(frame, at);
    ASSERT_NE(at, std::string::npos) << frame;
  }
}

TEST_F(Capture, OfNothingIsAValidFile) {
  ASSERT_TRUE(JoinCaptures({}, Path("out")).ok());
  EXPECT_EQ(ReadCapture(Path("out"))->frames, 0u);
  EXPECT_FALSE(JoinCaptures({}, Path("no/such/folder")).ok());
  EXPECT_FALSE(JoinCaptures({Path("absent")}, Path("out")).ok());
}

}  // namespace
}  // namespace sluice::client
