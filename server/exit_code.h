// How sluiced ends. Scripts and container supervisors tell causes apart by these.

#pragma once

namespace sluice {

enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kCommandLine = 2,
  kConfig = 3,      // the file, its keys and values, devargs
  kPrivileges = 4,  // the system refused what needs a capability or another user
  kMemory = 5,      // memory or huge pages
  kListen = 6,      // an address in use, or one that cannot be listened on
};

}  // namespace sluice
