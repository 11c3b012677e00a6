#include "dataplane/worker/placement.h"

#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice {
namespace {

// Beyond CPU_SETSIZE there are machines too; the kernel wants a mask at least as
// large as its own.
constexpr unsigned kMaxCpus = 8192;

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpuSet>;
constexpr size_t kCpuSetBytes = CPU_ALLOC_SIZE(kMaxCpus);

CpuSet EmptyCpuSet() {
  CpuSet set(CPU_ALLOC(kMaxCpus));
  CPU_ZERO_S(kCpuSetBytes, set.get());
  return set;
}

bool Contains(const std::vector<unsigned>& cpus, unsigned cpu) { return std::ranges::find(cpus, cpu) != cpus.end(); }

std::vector<unsigned> Without(const std::vector<unsigned>& cpus, const std::vector<unsigned>& others) {
  std::vector<unsigned> rest;
  std::ranges::copy_if(cpus, std::back_inserter(rest), [&](unsigned cpu) { return !Contains(others, cpu); });
  return rest;
}

absl::Status CheckWanted(const std::vector<unsigned>& allowed, const std::vector<unsigned>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!Contains(allowed, wanted[i])) {
      return absl::InvalidArgumentError(absl::StrCat("no worker can run on CPU ", wanted[i],
                                                     ": this process is allowed to use the CPUs ",
                                                     absl::StrJoin(allowed, ", ")));
    }
    if (std::ranges::find(wanted.begin(), wanted.begin() + i, wanted[i]) != wanted.begin() + i) {
      return absl::InvalidArgumentError(absl::StrCat("CPU ", wanted[i], " is given to two workers"));
    }
  }
  return absl::OkStatus();
}

// The first allowed CPU is left to the others, the rest serve workers; with too
// few, the first joins in, and then they take turns.
std::vector<unsigned> ChooseCpus(const std::vector<unsigned>& allowed, unsigned count) {
  std::vector<unsigned> candidates(allowed.begin() + 1, allowed.end());
  candidates.push_back(allowed.front());
  std::vector<unsigned> chosen;
  for (unsigned i = 0; i < count; ++i) chosen.push_back(candidates[i % candidates.size()]);
  return chosen;
}

absl::Status SetAffinity(pid_t thread, const std::vector<unsigned>& cpus) {
  const CpuSet set = EmptyCpuSet();
  for (unsigned cpu : cpus) CPU_SET_S(cpu, kCpuSetBytes, set.get());
  // A thread that has ended since it was listed is no error.
  if (sched_setaffinity(thread, kCpuSetBytes, set.get()) == 0 || errno == ESRCH) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot bind a thread to the CPUs ", absl::StrJoin(cpus, ", ")));
}

// Of files in a folder; none if it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  return names;
}

}  // namespace

absl::StatusOr<Placement> PlaceWorkers(const std::vector<unsigned>& allowed, const std::vector<unsigned>& wanted,
                                       unsigned count) {
  if (allowed.empty()) return absl::InvalidArgumentError("this process is not allowed to use any CPU");
  if (!wanted.empty()) count = static_cast<unsigned>(wanted.size());
  if (count < 1 || count > kMaxWorkers) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " workers: it must be 1 to ", kMaxWorkers, ", on the CPUs ", absl::StrJoin(allowed, ", ")));
  }
  if (absl::Status status = CheckWanted(allowed, wanted); !status.ok()) return status;
  Placement placement;
  placement.worker_cpus = wanted.empty() ? ChooseCpus(allowed, count) : wanted;
  placement.control_cpus = Without(allowed, placement.worker_cpus);
  if (placement.control_cpus.empty()) placement.control_cpus = allowed;
  placement.main_cpu = placement.control_cpus.front();
  return placement;
}

absl::StatusOr<std::vector<unsigned>> AllowedCpus() {
  const CpuSet set = EmptyCpuSet();
  if (sched_getaffinity(0, kCpuSetBytes, set.get()) != 0) {
    return absl::ErrnoToStatus(errno, "cannot read the CPUs that this process may use");
  }
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(cpu, kCpuSetBytes, set.get())) cpus.push_back(cpu);
  }
  return cpus;
}

absl::Status PinThisThread(const std::vector<unsigned>& cpus) { return SetAffinity(0, cpus); }

absl::Status PinAllThreads(const std::vector<unsigned>& cpus) {
  const std::vector<std::string> tasks = NamesIn("/proc/self/task");
  if (tasks.empty()) return absl::InternalError("cannot list the threads in /proc/self/task");
  for (const std::string& task : tasks) {
    pid_t thread = 0;
    if (!absl::SimpleAtoi(task, &thread)) continue;
    if (absl::Status status = SetAffinity(thread, cpus); !status.ok()) return status;
  }
  return absl::OkStatus();
}

int NumaNodeOf(unsigned cpu) {
  for (const std::string& name : NamesIn(absl::StrCat("/sys/devices/system/cpu/cpu", cpu))) {
    int node = 0;
    if (absl::StartsWith(name, "node") && absl::SimpleAtoi(name.substr(4), &node)) return node;
  }
  return -1;
}

}  // namespace sluice
