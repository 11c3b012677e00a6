#include "dataplane/worker/eal.h"

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_version.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "dataplane/port/dpdk_log.h"
#include "dataplane/port/ethdev_port.h"

namespace sluice {
namespace {

// Standard output and standard error, kept in memory for as long as this lives:
// arguments that EAL does not know make it print its whole usage there.
class OutputCapture {
 public:
  OutputCapture() : file_(memfd_create("eal-output", MFD_CLOEXEC)) {
    fflush(nullptr);
    for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      saved_[fd - 1] = dup(fd);
      if (file_ >= 0 && saved_[fd - 1] >= 0) dup2(file_, fd);
    }
  }
  ~OutputCapture() {
    fflush(nullptr);
    for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      if (saved_[fd - 1] < 0) continue;
      dup2(saved_[fd - 1], fd);
      close(saved_[fd - 1]);
    }
    if (file_ >= 0) close(file_);
  }
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;

  // The line in which getopt says what it does not like.
  std::string OptionError() const {
    fflush(nullptr);
    std::string text(1 << 14, '\0');
    const ssize_t size = file_ < 0 ? 0 : pread(file_, text.data(), text.size(), 0);
    text.resize(std::max<ssize_t>(size, 0));
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      if (line.find("option") != std::string::npos && line.find(": ") != std::string::npos) return line;
    }
    return "";
  }

 private:
  int file_;
  int saved_[2] = {-1, -1};
};

std::string OwnPrefix() { return absl::StrCat("sluice-", getpid()); }

void IgnoreRealTimeSignals() {
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = SIG_IGN;
    sigaction(number, &action, nullptr);
  }
}

// Small pools get small caches: what lies in one worker's cache is out of reach
// for the others.
unsigned CacheSize(unsigned buffers, unsigned workers) {
  const unsigned size = buffers / (8 * (workers + 1));
  return std::min<unsigned>(size, 256) & ~7u;
}

// As rte_pktmbuf_pool_create, but for the flag: buffers may cross pages. Bus
// addresses are virtual here, so that they lie in a row wherever the pages are,
// and without huge pages every second byte would be lost otherwise.
rte_mempool* NewPool(const DataplaneConfig& config, unsigned cache) {
  const auto room = static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + config.packet_buffer_bytes);
  rte_mempool* pool =
      rte_mempool_create_empty("packets", config.packet_buffers, sizeof(rte_mbuf) + room, cache,
                               sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private layout{.mbuf_data_room_size = room, .mbuf_priv_size = 0, .flags = 0};
  rte_pktmbuf_pool_init(pool, &layout);
  if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr) == 0 &&
      rte_mempool_populate_default(pool) >= 0) {
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
    return pool;
  }
  rte_mempool_free(pool);
  return nullptr;
}

}  // namespace

std::vector<std::string> EalArguments(const DataplaneConfig& config, unsigned main_cpu, const MemoryPlan& memory,
                                      const std::string& prefix) {
  std::vector<std::string> arguments = {
      "sluiced", absl::StrCat("--lcores=0@", main_cpu), "--iova-mode=va", "--no-telemetry", "--file-prefix", prefix};
  if (memory.huge_pages) {
    arguments.emplace_back("--in-memory");
  } else {
    arguments.insert(arguments.end(), {"--no-huge", "--no-shconf"});
  }
  if (memory.megabytes != 0) arguments.insert(arguments.end(), {"-m", absl::StrCat(memory.megabytes)});
  if (!config.use_pci) arguments.emplace_back("--no-pci");
  arguments.insert(arguments.end(), config.eal_args.begin(), config.eal_args.end());
  return arguments;
}

Eal::Eal(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}

Eal::~Eal() {
  rte_mempool_free(pool_);
  if (!up_) return;
  // DPDK leaves it behind. Only where it has our own prefix: the configuration may
  // have named one that other processes share.
  const std::filesystem::path folder = rte_eal_get_runtime_dir();
  if (!EthdevPort::AnyAbandoned()) rte_eal_cleanup();
  std::error_code ignored;
  if (folder.filename() == OwnPrefix()) std::filesystem::remove_all(folder, ignored);
}

absl::StatusOr<std::unique_ptr<Eal>> Eal::Start(const DataplaneConfig& config, const Placement& placement,
                                                const MemoryPlan& memory) {
  static std::atomic<bool> started{false};
  if (started.exchange(true)) return absl::FailedPreconditionError("DPDK can be started only once in a process");
  TakeOverDpdkLog();
  IgnoreRealTimeSignals();
  std::unique_ptr<Eal> eal(new Eal(EalArguments(config, placement.main_cpu, memory, OwnPrefix())));
  const absl::Status up = eal->Init(!config.eal_args.empty());
  // Also when EAL failed: it may have pinned this thread by then.
  const absl::Status pinned = PinAllThreads(placement.control_cpus);
  for (const absl::Status& status : {up, pinned}) {
    if (!status.ok()) return status;
  }
  const auto workers = static_cast<unsigned>(placement.worker_cpus.size());
  if (absl::Status status = eal->CreatePool(config, workers); !status.ok()) return status;
  return eal;
}

std::string Eal::Version() { return rte_version(); }
uint64_t Eal::TscHz() { return rte_get_tsc_hz(); }

absl::Status Eal::Init(bool has_own_arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments_) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const DpdkLogCapture log;
  std::string option_error;
  {
    std::optional<OutputCapture> output;
    if (has_own_arguments) output.emplace();
    up_ = rte_eal_init(static_cast<int>(argv.size()) - 1, argv.data()) >= 0;
    if (!up_ && output) option_error = output->OptionError();
  }
  if (up_) return absl::OkStatus();
  const std::string what = absl::StrCat("DPDK does not start with ", absl::StrJoin(arguments_, " "));
  if (!option_error.empty()) return absl::InvalidArgumentError(absl::StrCat("DPDK's arguments: ", option_error));
  return log.Failure(
      what, rte_errno,
      has_own_arguments && rte_errno == EINVAL ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kInternal);
}

absl::Status Eal::CreatePool(const DataplaneConfig& config, unsigned workers) {
  const DpdkLogCapture log;
  pool_ = NewPool(config, CacheSize(config.packet_buffers, workers));
  if (pool_ != nullptr) return absl::OkStatus();
  return log.Failure(absl::StrCat("no memory for ", config.packet_buffers, " packet buffers of ",
                                  config.packet_buffer_bytes, " bytes (", PoolBytes(config) >> 20, " MB)"),
                     rte_errno, absl::StatusCode::kResourceExhausted);
}

}  // namespace sluice
