#include "server/logging.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "server/quote.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace sluice {
namespace {

constexpr absl::string_view kReplacement = "\xef\xbf\xbd";

// How many bytes a well-formed character at the start of text has; 0: it is none.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Too long a form, surrogates, beyond U+10FFFF.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

absl::string_view ViewOf(spdlog::string_view_t text) { return {text.data(), text.size()}; }

std::string TimeOf(const spdlog::details::log_msg& message) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(message.time), absl::UTCTimeZone());
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string line = absl::StrCat("{\"time\":\"", TimeOf(message), "\",\"level\":\"",
                                          ViewOf(spdlog::level::to_string_view(message.level)), "\",\"message\":\"",
                                          EscapeJson(ViewOf(message.payload)), "\"}\n");
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

class TextFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string line = absl::StrCat(TimeOf(message), " ", ViewOf(spdlog::level::to_string_view(message.level)),
                                          " ", OneLine(ViewOf(message.payload)), "\n");
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<TextFormatter>(); }
};

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

std::string EscapeJson(absl::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      absl::StrAppend(&out, kReplacement);
    } else if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", text.substr(0, 1));
    } else if (c == '\n') {
      absl::StrAppend(&out, "\\n");
    } else if (c < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      absl::StrAppend(&out, text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::unique_ptr<spdlog::formatter> NewLogFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<TextFormatter>();
}

void StartLogging(LogLevel level, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>("sluiced", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(NewLogFormatter(format));
  logger->set_level(LevelOf(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace sluice
