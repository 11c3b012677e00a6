#include "client/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace sluice::client {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(60);
constexpr absl::Duration kStopTimeout = absl::Seconds(20);
constexpr absl::Duration kPoll = absl::Milliseconds(10);
constexpr size_t kLogLines = 20;

std::string ExitText(int status) {
  if (WIFSIGNALED(status)) return absl::StrCat("signal ", WTERMSIG(status));
  return absl::StrCat("exit code ", WEXITSTATUS(status));
}

// In the child, between fork and exec: nothing but system calls.
[[noreturn]] void Exec(const char* binary, char* const* arguments, int log, pid_t parent) {
  setpgid(0, 0);  // an interrupt from the terminal is for the parent, which ends the child in order
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it went before prctl
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(binary, arguments);
  _exit(127);
}

}  // namespace

absl::StatusOr<std::string> FindDaemon() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path places[] = {folder / "sluiced", folder.parent_path() / "server" / "sluiced"};
  for (const std::filesystem::path& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place.string();
  }
  return absl::NotFoundError(absl::StrCat("there is no sluiced beside sluicectl: neither ", places[0].string(), " nor ",
                                          places[1].string(), " can be run"));
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const std::string& binary, const std::string& folder,
                                                      const std::string& config, const std::string& socket,
                                                      const std::function<bool()>& interrupted) {
  std::unique_ptr<Daemon> daemon(new Daemon);
  daemon->log_path_ = absl::StrCat(folder, "/log");
  const std::string config_path = absl::StrCat(folder, "/sluiced.yaml");
  if (!(std::ofstream(config_path) << config)) {
    return absl::FailedPreconditionError(absl::StrCat(config_path, ": cannot be written"));
  }
  if (absl::Status status = daemon->Launch(binary, config_path); !status.ok()) return status;
  if (absl::Status status = daemon->WaitUntilReady(socket, interrupted); !status.ok()) return status;
  return daemon;
}

absl::Status Daemon::Launch(const std::string& binary, const std::string& config_path) {
  const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return absl::FailedPreconditionError(absl::StrCat(log_path_, ": ", std::strerror(errno)));
  std::string name = binary, option = "--config", path = config_path;
  char* arguments[] = {name.data(), option.data(), path.data(), nullptr};
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) Exec(binary.c_str(), arguments, log, parent);
  const int error = errno;
  close(log);
  if (pid_ < 0) return absl::ResourceExhaustedError(absl::StrCat("cannot start ", binary, ": ", std::strerror(error)));
  return absl::OkStatus();
}

// True once the child has gone; with WNOHANG it does not wait for that.
bool Daemon::Ended(int options) {
  if (pid_ < 0) return true;
  if (waitpid(pid_, &exit_status_, options) != pid_) return false;
  pid_ = -1;
  return true;
}

absl::Status Daemon::WaitUntilReady(const std::string& socket, const std::function<bool()>& interrupted) {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  absl::Status answer = absl::UnavailableError("it does not listen");
  while (true) {
    if (client_ == nullptr &&
        access(socket.c_str(), F_OK) == 0) {  // a channel that fails once waits before it tries again
      absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(absl::StrCat("unix://", socket));
      if (!client.ok()) return client.status();
      client_ = *std::move(client);
    }
    if (client_ != nullptr) answer = client_->GetSwitch().status();
    if (answer.ok()) return answer;
    if (Ended(WNOHANG)) {
      return absl::FailedPreconditionError(absl::StrCat("sluiced ended with ", ExitText(exit_status_), ":\n", Log()));
    }
    if (interrupted()) return absl::CancelledError("interrupted");
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("sluiced does not answer: ", answer.message(), "\n", Log()));
    }
    absl::SleepFor(kPoll);
  }
}

absl::Status Daemon::Stop() {
  if (pid_ < 0) return absl::OkStatus();
  kill(pid_, SIGTERM);
  const absl::Time deadline = absl::Now() + kStopTimeout;
  while (!Ended(WNOHANG)) {
    if (absl::Now() > deadline) {
      kill(pid_, SIGKILL);
      Ended(0);
      return absl::InternalError(absl::StrCat("sluiced did not end by itself:\n", Log()));
    }
    absl::SleepFor(kPoll);
  }
  if (exit_status_ == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("sluiced ended with ", ExitText(exit_status_), ":\n", Log()));
}

Daemon::~Daemon() { (void)Stop(); }

std::string Daemon::Log() const {
  std::ifstream file(log_path_);
  std::stringstream content;
  content << file.rdbuf();
  std::vector<std::string> lines = absl::StrSplit(content.str(), '\n', absl::SkipEmpty());
  if (lines.size() > kLogLines) lines.erase(lines.begin(), lines.end() - kLogLines);
  return absl::StrJoin(lines, "\n");
}

}  // namespace sluice::client
