// What could come next on the command line of sluicectl, for the shells.
//
// Read from the command tree itself, so that a new command or option completes
// without a word here. What kind of value an option or argument takes is told
// from the name that its help shows: FILE, DIR, IFACE, NAME|NUMBER (a port),
// ID|FLOW (a flow), {a,b,c}.
//
// Nothing is printed when the switch cannot be reached: a shell completes less
// then, and does not complain. One thread.

#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "client/cli.h"

namespace sluice::client {

// The first argument that asks for it. The words that were typed follow, the
// last of which is to be completed.
inline constexpr char kCompleteCommand[] = "__complete";

// Prints "words", "files" or "folders" as the first line: what the last word may
// become. Below "words", one a line, each that it may become, a tab and what it
// means.
void PrintCompletions(const CLI::App& app, Cli& cli, const std::vector<std::string>& words, std::ostream& out);

}  // namespace sluice::client
