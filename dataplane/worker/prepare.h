// From received buffers to keys: the first stage of a burst.
//
// Frames come out with every tag in their bytes and with the headers that were
// parsed in their first segment. Workers only.

#pragma once

#include "dataplane/worker/burst.h"

namespace sluice {

// burst.mbufs[0, burst.count) are as received on port `in_port`. Fills keys and
// layouts, as deep as the flows look, and bytes; counts what was received, drops
// frames without a whole Ethernet header (malformed) or with headers longer than
// a buffer (no_buffers).
void Prepare(Burst& burst, uint32_t in_port, bool beyond_link);

// Puts back into the frames' bytes the tags that a device took out, as Prepare does, where there is room.
void RestoreTags(Burst& burst);

// Parses a frame that was rewritten, as deep as can be, whatever the flows look at.
// Headers longer than a buffer leave what is behind them absent.
void ParseAgain(rte_mbuf* mbuf, uint32_t in_port, PacketKey& key, HeaderLayout& layout);

// Moves bytes from later segments into the first as far as they fit. False if
// none did.
bool PullIntoFirst(rte_mbuf* mbuf);

}  // namespace sluice
