// A sluiced of our own: a child process with a private configuration, socket and
// log, which ends with this object, or with this process however that ends.
//
// One thread, which must outlive the child: the kernel ends the child with the
// thread that started it.

#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/client.h"

namespace sluice::client {

// The sluiced that belongs to this program: beside it, or where the build puts
// it. NOT_FOUND names the places.
absl::StatusOr<std::string> FindDaemon();

class Daemon {
 public:
  // Starts it with `config`, YAML, by which it listens at `socket`, and waits
  // until it answers. `folder` takes configuration and log. CANCELLED when
  // `interrupted` says so. FAILED_PRECONDITION, with what it logged, if it ends
  // instead.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const std::string& binary, const std::string& folder,
                                                       const std::string& config, const std::string& socket,
                                                       const std::function<bool()>& interrupted);
  // Ends it, if Stop has not.
  ~Daemon();

  Client& client() { return *client_; }

  // Asks it to end and waits. INTERNAL, with its log, if it does not end well.
  absl::Status Stop();

  // The last lines that it logged.
  std::string Log() const;

 private:
  Daemon() = default;
  absl::Status Launch(const std::string& binary, const std::string& config_path);
  absl::Status WaitUntilReady(const std::string& socket, const std::function<bool()>& interrupted);
  bool Ended(int options);

  pid_t pid_ = -1;  // -1: not running
  int exit_status_ = 0;
  std::string log_path_;
  std::unique_ptr<Client> client_;
};

}  // namespace sluice::client
