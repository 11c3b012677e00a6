// The least of an HTTP client, for scrapes.

#pragma once

#include <string>

namespace sluice {

// "http://127.0.0.1:PORT/path": the whole answer with its head, or what went wrong.
std::string HttpGet(const std::string& url);

}  // namespace sluice
