#include "dataplane/worker/memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sluice {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;
// What a buffer takes beside its frame bytes: the pool's header and trailer, the
// mbuf, the headroom, and padding that spreads buffers over memory channels.
constexpr uint64_t kBufferOverhead = 64 + 128 + 128 + 64;
// For device tables, rings and what drivers allocate. Untouched pages of it cost nothing.
constexpr uint64_t kOtherBytes = 64 * kMegabyte;

uint64_t Megabytes(uint64_t bytes) { return (bytes + kMegabyte - 1) / kMegabyte; }

std::string BuffersText(const DataplaneConfig& config) {
  return absl::StrCat(config.packet_buffers, " packet buffers of ", config.packet_buffer_bytes, " bytes need ",
                      Megabytes(PoolBytes(config) + kOtherBytes), " MB with what belongs to them");
}

uint64_t HugeBytes(const MemoryAvailable& available) {
  uint64_t bytes = 0;
  for (const HugePagesFree& huge : available.huge) bytes += huge.page_bytes * huge.pages;
  return bytes;
}

std::string HugeText(const MemoryAvailable& available) {
  if (available.huge.empty()) return "the kernel has no huge pages";
  return absl::StrJoin(available.huge, " and ", [](std::string* out, const HugePagesFree& huge) {
    absl::StrAppend(out, huge.pages, " pages of ", huge.page_bytes / 1024, " kB are free");
  });
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  uint64_t number = 0;
  if (!std::getline(file, text) || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

uint64_t MemAvailable() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t kilobytes = 0;
    if (words.size() >= 2 && words[0] == "MemAvailable:" && absl::SimpleAtoi(words[1], &kilobytes))
      return kilobytes * 1024;
  }
  return UINT64_MAX;
}

// What the control group leaves; a container sees its own at the root. No limit
// reads as "max" (version 2) or as a huge number (version 1).
uint64_t ControlGroupRest() {
  constexpr const char* kFiles[][2] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const auto& [limit_file, usage_file] : kFiles) {
    const std::optional<uint64_t> limit = ReadNumber(limit_file);
    const std::optional<uint64_t> usage = ReadNumber(usage_file);
    if (limit && usage) return *limit > *usage ? *limit - *usage : 0;
  }
  return UINT64_MAX;
}

// Folders are named like hugepages-2048kB.
std::vector<HugePagesFree> ReadHugePages() {
  constexpr absl::string_view kPrefix = "hugepages-";
  std::vector<HugePagesFree> huge;
  std::error_code error;
  for (std::filesystem::directory_iterator folder("/sys/kernel/mm/hugepages", error), end; !error && folder != end;
       folder.increment(error)) {
    const std::string name = folder->path().filename();
    uint64_t kilobytes = 0;
    if (!absl::StartsWith(name, kPrefix)) continue;
    if (!absl::SimpleAtoi(name.substr(kPrefix.size(), name.find("kB") - kPrefix.size()), &kilobytes)) continue;
    huge.push_back({kilobytes * 1024, ReadNumber(folder->path() / "free_hugepages").value_or(0)});
  }
  return huge;
}

}  // namespace

uint64_t PoolBytes(const DataplaneConfig& config) {
  return uint64_t{config.packet_buffers} * (config.packet_buffer_bytes + kBufferOverhead);
}

absl::StatusOr<MemoryPlan> PlanMemory(const DataplaneConfig& config, const MemoryAvailable& available) {
  const uint64_t pool = PoolBytes(config);
  const uint64_t need = config.memory_mb != 0 ? config.memory_mb * kMegabyte : pool + kOtherBytes;
  if (need < pool) {
    return absl::ResourceExhaustedError(
        absl::StrCat(BuffersText(config), "; ", config.memory_mb, " MB are configured"));
  }
  if (config.huge_pages != HugePages::kNever && HugeBytes(available) >= need) {
    return MemoryPlan{.huge_pages = true, .megabytes = config.memory_mb};
  }
  const std::string wanted =
      config.memory_mb != 0 ? absl::StrCat(config.memory_mb, " MB are configured") : BuffersText(config);
  if (config.huge_pages == HugePages::kDemand) {
    return absl::ResourceExhaustedError(absl::StrCat("not enough huge pages: ", wanted, "; ", HugeText(available)));
  }
  // Of plain memory only what is touched counts, and that is the pool.
  if (available.plain_bytes < pool) {
    return absl::ResourceExhaustedError(absl::StrCat("not enough memory: ", BuffersText(config), "; ",
                                                     available.plain_bytes / kMegabyte, " MB are available"));
  }
  return MemoryPlan{.huge_pages = false, .megabytes = Megabytes(need)};
}

MemoryAvailable ReadMemory() {
  return {.plain_bytes = std::min(MemAvailable(), ControlGroupRest()), .huge = ReadHugePages()};
}

}  // namespace sluice
