// The rows of several chunks ANDed, for a batch of packets: which slots are left.
//
// With the widest vectors that the processor has, chosen once, at the first call
// (Highway). Words of rows are stored to by the writer meanwhile: loads of a
// vector are as good as one relaxed load a word. ThreadSanitizer does not know
// that, so its builds load word by word.
//
// Pure; any thread.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

struct RowSet {
  const std::atomic<uint64_t>* const* rows;  // packet after packet, a row a chunk
  const uint64_t* passing;                   // chunk after chunk: slots that do not look there
  const uint64_t* live;                      // slots that are in use
  unsigned chunk_count;
  unsigned words;  // a row: 1, 2 or a multiple of 8
};

// Words that tell which of a row's words are not zero.
constexpr unsigned UsedWords(unsigned words) { return (words + 63) / 64; }

// For each of n packets: out gets the row of slots that are left, used which of
// its words are not zero.
void AndRows(const RowSet& set, unsigned n, uint64_t* out, uint64_t* used);
// The same, word by word.
void AndRowsByWord(const RowSet& set, unsigned n, uint64_t* out, uint64_t* used);

}  // namespace sluice
