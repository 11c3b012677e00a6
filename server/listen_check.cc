#include "server/listen_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

absl::Status CannotListen(const ListenAddress& address, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", address.ToString(), ": ", why));
}

absl::Status CannotListen(const ListenAddress& address, int error) {
  return CannotListen(address, std::generic_category().message(error));
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  // ParseListenAddress has seen to it that it fits.
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

// The errno of connecting; 0: somebody answers.
int Connect(const std::string& path) {
  // Not waiting: a server whose queue is full is there all the same.
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  const sockaddr_un to = UnixAddress(path);
  const int error = connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  close(fd);
  return error == EAGAIN ? 0 : error;
}

int Bind(int family, const sockaddr* address, socklen_t length) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const absl::Cleanup closing = [fd] { close(fd); };
  const int on = 1;
  // As gRPC does: connections of a former process that still linger are no hindrance.
  if (family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, address, length) != 0 || listen(fd, 1) != 0) return errno;
  return 0;
}

absl::Status TryUnix(const ListenAddress& address) {
  const sockaddr_un local = UnixAddress(address.unix_path);
  const int error = Bind(AF_UNIX, reinterpret_cast<const sockaddr*>(&local), sizeof local);
  if (error != 0) return CannotListen(address, error);
  unlink(address.unix_path.c_str());
  return absl::OkStatus();
}

// As getaddrinfo(), for a TCP address.
int Resolve(const ListenAddress& address, addrinfo** list) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  return getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, list);
}

}  // namespace

absl::Status PrepareToListen(const ListenAddress& address) {
  if (!address.is_unix()) return absl::OkStatus();
  const std::string& path = address.unix_path;
  const std::string folder = path.substr(0, path.rfind('/'));
  if (!folder.empty() && mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return CannotListen(address, absl::StrCat(folder, ": ", std::generic_category().message(errno)));
  }
  struct stat file;
  if (lstat(path.c_str(), &file) != 0) return errno == ENOENT ? absl::OkStatus() : CannotListen(address, errno);
  if (!S_ISSOCK(file.st_mode)) return CannotListen(address, "a file that is no socket is in its place");
  const int error = Connect(path);
  if (error == 0) return CannotListen(address, "another process serves it");
  if (error != ECONNREFUSED) return CannotListen(address, error);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return CannotListen(address, errno);
  return absl::OkStatus();
}

absl::Status TryToListen(const ListenAddress& address) {
  if (address.is_unix()) return TryUnix(address);
  addrinfo* list = nullptr;
  if (const int failed = Resolve(address, &list); failed != 0) return CannotListen(address, gai_strerror(failed));
  const absl::Cleanup freeing = [list] { freeaddrinfo(list); };
  for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
    const int error = Bind(info->ai_family, info->ai_addr, info->ai_addrlen);
    if (error != 0) return CannotListen(address, error);
  }
  return absl::OkStatus();
}

void Knock(const ListenAddress& address) {
  addrinfo* list = nullptr;
  if (Resolve(address, &list) != 0) return;
  const absl::Cleanup freeing = [list] { freeaddrinfo(list); };
  const int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  // To an address that means all of the machine's, this connects to the loopback's.
  connect(fd, list->ai_addr, list->ai_addrlen);
  close(fd);
}

}  // namespace sluice
