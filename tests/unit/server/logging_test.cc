// A line an event, whatever stands in it.

#include "server/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "spdlog/details/log_msg.h"

namespace sluice {
namespace {

std::string LineOf(LogFormat format, const std::string& text) {
  const spdlog::details::log_msg message(spdlog::log_clock::time_point(std::chrono::milliseconds(1'700'000'000'250)),
                                         spdlog::source_loc(), "sluiced", spdlog::level::warn, text);
  spdlog::memory_buf_t out;
  NewLogFormatter(format)->format(message, out);
  return {out.data(), out.size()};
}

TEST(LoggingTest, TextAndJson) {
  EXPECT_EQ(LineOf(LogFormat::kText, "port p1 is up"), "2023-11-14T22:13:20.250Z warning port p1 is up\n");
  EXPECT_EQ(LineOf(LogFormat::kJson, "port p1 is up"),
            "{\"time\":\"2023-11-14T22:13:20.250Z\",\"level\":\"warning\",\"message\":\"port p1 is up\"}\n");
}

TEST(LoggingTest, TextOfOthersStaysOneLine) {
  EXPECT_EQ(LineOf(LogFormat::kText, "a\nb\x1b[2J\t\xc3\xa9"),
            "2023-11-14T22:13:20.250Z warning a\\nb\\x1b[2J\\x09\xc3\xa9\n");
  EXPECT_EQ(LineOf(LogFormat::kJson, "\"a\"\n"),
            "{\"time\":\"2023-11-14T22:13:20.250Z\",\"level\":\"warning\",\"message\":\"\\\"a\\\"\\n\"}\n");
}

TEST(EscapeJsonTest, EveryKindOfByte) {
  EXPECT_EQ(EscapeJson("plain"), "plain");
  EXPECT_EQ(EscapeJson("a\\b\"c"), "a\\\\b\\\"c");
  EXPECT_EQ(EscapeJson(absl::string_view("\0\x01\t\r\x1f\x7f", 6)), "\\u0000\\u0001\\u0009\\u000d\\u001f\\u007f");
  EXPECT_EQ(EscapeJson("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  const std::string no = "\xef\xbf\xbd";
  EXPECT_EQ(EscapeJson("\xff"), no);
  EXPECT_EQ(EscapeJson("\xc3"), no) << "cut short";
  EXPECT_EQ(EscapeJson("\xe2\x82z"), no + no + "z");
  EXPECT_EQ(EscapeJson("\xc0\xaf"), no + no) << "too long a form of '/'";
  EXPECT_EQ(EscapeJson("\xed\xa0\x80"), no + no + no) << "a surrogate";
  EXPECT_EQ(EscapeJson("\xf4\x90\x80\x80"), no + no + no + no) << "beyond the last character";
}

}  // namespace
}  // namespace sluice
