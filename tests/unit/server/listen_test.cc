// Addresses, and who is on them already.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "server/listen_address.h"
#include "server/listen_check.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(ListenAddressTest, FormsThatAreTaken) {
  for (const char* text : {"unix:///run/a.sock", "127.0.0.1:9090", "[::1]:0", "localhost:65535", "0.0.0.0:1"}) {
    const auto address = ParseListenAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
  }
  EXPECT_EQ(ParseListenAddress("unix:/a")->ToString(), "unix:///a");
  EXPECT_EQ(ParseListenAddress("[::1]:80")->host, "::1");
}

TEST(ListenAddressTest, FormsThatAreRefused) {
  for (const std::string& text :
       {std::string(), std::string("unix:"), std::string("unix://"), std::string("unix:a"), std::string("unix:///a/"),
        "unix:///" + std::string(200, 'a'), std::string("9090"), std::string(":9090"), std::string("a:"),
        std::string("a:-1"), std::string("a:+1"), std::string("a:65536"), std::string("a:1x"), std::string("::1:80"),
        std::string("[::1:80"), std::string("[a]:80"), std::string("a b:80"), std::string("http://a:80"),
        std::string("unix:///a\0b", 11)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseListenAddress(text).status())) << text;
  }
}

class SocketTest : public ::testing::Test {
 protected:
  SocketTest() {
    folder_ = ::testing::TempDir() + "/sluice-listen-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) abort();
  }
  ~SocketTest() override {
    if (server_ >= 0) close(server_);
    std::filesystem::remove_all(folder_);
  }

  ListenAddress At(const std::string& name) { return *ParseListenAddress("unix://" + folder_ + "/" + name); }

  // A socket file, with somebody behind it or not.
  void Bind(const std::string& name, bool serve) {
    server_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_ + "/" + name).c_str());
    ASSERT_EQ(bind(server_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (serve) ASSERT_EQ(listen(server_, 1), 0);
  }

  std::string folder_;
  int server_ = -1;
};

TEST_F(SocketTest, AFreePathIsLeftAlone) {
  EXPECT_TRUE(PrepareToListen(At("a")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_TRUE(TryToListen(At("a")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SocketTest, AMissingFolderIsMadeButNotItsParents) {
  EXPECT_TRUE(PrepareToListen(At("new/a")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/new"));
  const absl::Status status = PrepareToListen(At("x/y/a"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("x/y: No such file or directory"));
}

TEST_F(SocketTest, AServedSocketIsInUse) {
  Bind("a", /*serve=*/true);
  // Even with a queue that is full.
  for (int i = 0; i < 5; ++i) {
    const absl::Status status = PrepareToListen(At("a"));
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("/a: another process serves it"));
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/a"));
}

TEST_F(SocketTest, AStaleSocketIsRemoved) {
  Bind("a", /*serve=*/false);
  close(server_);
  server_ = -1;
  EXPECT_TRUE(PrepareToListen(At("a")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/a"));
}

TEST_F(SocketTest, AFileThatIsNoSocketStays) {
  std::fclose(std::fopen((folder_ + "/a").c_str(), "w"));
  EXPECT_THAT(std::string(PrepareToListen(At("a")).message()), HasSubstr("no socket is in its place"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/a"));
}

TEST(TryToListenTest, SaysWhyNot) {
  const ListenAddress free{.unix_path = "", .host = "127.0.0.1", .port = 0};
  EXPECT_TRUE(TryToListen(free).ok());
  const ListenAddress not_ours{.unix_path = "", .host = "192.0.2.1", .port = 0};
  EXPECT_EQ(TryToListen(not_ours).message(), "cannot listen on 192.0.2.1:0: Cannot assign requested address");
}

}  // namespace
}  // namespace sluice
