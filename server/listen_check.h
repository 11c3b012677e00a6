// What gRPC does not say about an address: whether a UNIX socket is another
// process's, and why an address cannot be listened on.
//
// gRPC removes a socket file that is in its way even while another process
// serves it, and tells of a failure only that there was one.
//
// Any thread.

#pragma once

#include "absl/status/status.h"
#include "server/listen_address.h"

namespace sluice {

// For a UNIX socket: makes its folder if only that is missing and removes the
// file if nobody serves it any more. Errors name the address.
absl::Status PrepareToListen(const ListenAddress& address);

// Tries to bind the address, to find out what the system says. OK if it works.
absl::Status TryToListen(const ListenAddress& address);

// Connects to a TCP address, without waiting, and closes at once: whoever listens there wakes up.
void Knock(const ListenAddress& address);

}  // namespace sluice
