#include "dataplane/classifier/candidates.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr unsigned kWordsALine = 8;

void PrefetchRow(const std::atomic<uint64_t>* row, unsigned words) {
  for (unsigned at = 0; at < words; at += kWordsALine) __builtin_prefetch(row + at);
}

// The rows of one chunk for all packets.
void FindRows(const Pruning::Chunk& chunk, const PacketKey* keys, unsigned n, unsigned words,
              const std::atomic<uint64_t>** rows, unsigned step) {
  uint16_t classes[kBatch];
  for (unsigned i = 0; i < n; ++i) {
    uint16_t value;
    std::memcpy(&value, reinterpret_cast<const char*>(&keys[i]) + chunk.offset, sizeof value);
    classes[i] = chunk.classes->ClassOf(value);
  }
  // After the cells, so that it has all of their classes.
  const RowBlock& block = chunk.classes->rows();
  for (unsigned i = 0; i < n; ++i) {
    rows[i * step] = block.row(classes[i]);
    PrefetchRow(rows[i * step], words);
  }
}

}  // namespace

void Candidates::Find(const PacketKey* keys, unsigned n) {
  const std::atomic<uint64_t>* rows[kBatch * MaskIndex::kMaxChosen];
  const auto chunk_count = static_cast<unsigned>(pruning_.chunks.size());
  for (unsigned k = 0; k < chunk_count; ++k) {
    FindRows(pruning_.chunks[k], keys, n, pruning_.words, rows + k, chunk_count);
  }
  const RowSet set{.rows = rows,
                   .passing = pruning_.passing.data(),
                   .live = pruning_.live.data(),
                   .chunk_count = chunk_count,
                   .words = pruning_.words};
  AndRows(set, n, bits_, used_);
  if (pruning_.in_order) return;
  for (unsigned i = 0; i < n; ++i) PutInOrder(i);
}

// From slots to places.
void Candidates::PutInOrder(unsigned i) {
  uint64_t* const row = bits_ + i * pruning_.words;
  uint64_t* const used = used_ + i * UsedWords(pruning_.words);
  uint64_t placed[kMaxWords];
  std::fill_n(placed, pruning_.words, 0);
  for (unsigned at = 0; at < pruning_.words; ++at) {
    for (uint64_t left = row[at]; left != 0; left &= left - 1) {
      const uint32_t place = pruning_.places[64 * at + static_cast<unsigned>(std::countr_zero(left))];
      placed[place / 64] |= uint64_t{1} << (place % 64);
    }
  }
  std::copy_n(placed, pruning_.words, row);
  std::fill_n(used, UsedWords(pruning_.words), 0);
  for (unsigned at = 0; at < pruning_.words; ++at) used[at / 64] |= uint64_t{placed[at] != 0} << (at % 64);
}

}  // namespace sluice
