#include "tests/integration/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/time/clock.h"

namespace sluice {

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) : output_(memfd_create("output", MFD_CLOEXEC)) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0 || output_ < 0) abort();
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(output_, STDOUT_FILENO);
  dup2(output_, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

ChildProcess::~ChildProcess() {
  if (!Ended()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

void ChildProcess::Signal(int number) const {
  if (!ended_) kill(pid_, number);
}

bool ChildProcess::Ended() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

int ChildProcess::Wait(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!Ended()) {
    if (absl::Now() > deadline) return -1000;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return WIFSIGNALED(status_) ? -WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string ChildProcess::Output() const {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = pread(output_, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

bool ChildProcess::WaitForOutput(const std::string& text, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    const bool ended = Ended();
    if (Output().find(text) != std::string::npos) return true;
    if (ended || absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
}

}  // namespace sluice
