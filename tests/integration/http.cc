#include "tests/integration/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace sluice {

std::string HttpGet(const std::string& url) {
  const std::string head = "http://127.0.0.1:";
  if (url.compare(0, head.size(), head) != 0) return "not a loopback URL: " + url;
  const size_t slash = url.find('/', head.size());
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(url.substr(head.size(), slash - head.size()).c_str())));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    close(fd);
    return "cannot connect";
  }
  const std::string request = "GET " + url.substr(slash) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (write(fd, request.data(), request.size()) != static_cast<ssize_t>(request.size())) {
    close(fd);
    return "cannot write";
  }
  std::string answer;
  char buffer[65536];
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<size_t>(got));
  close(fd);
  return answer;
}

}  // namespace sluice
