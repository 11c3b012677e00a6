#include "dataplane/classifier/row_and.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dataplane/classifier/row_and.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once a target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A row's words from `at` on, as many as a vector has; tells which are not zero.
HWY_INLINE uint64_t AndVector(const RowSet& set, const std::atomic<uint64_t>* const* rows, unsigned at, uint64_t* out) {
  const hn::CappedTag<uint64_t, 8> d;
  auto left = hn::LoadU(d, set.live + at);
  for (unsigned chunk = 0; chunk < set.chunk_count; ++chunk) {
    const auto row = hn::LoadU(d, reinterpret_cast<const uint64_t*>(rows[chunk]) + at);
    const auto passing = hn::LoadU(d, set.passing + size_t{chunk} * set.words + at);
    left = hn::And(left, hn::Or(row, passing));
  }
  hn::StoreU(left, d, out + at);
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, hn::Ne(left, hn::Zero(d)), bits);
  return bits[0];
}

// Rows of a multiple of 8 words.
void AndRowsByVector(const RowSet& set, unsigned n, uint64_t* out, uint64_t* used) {
  const hn::CappedTag<uint64_t, 8> d;
  const auto lanes = static_cast<unsigned>(hn::Lanes(d));
  const std::atomic<uint64_t>* const* rows = set.rows;
  for (unsigned i = 0; i < n; ++i, rows += set.chunk_count, out += set.words, used += UsedWords(set.words)) {
    for (unsigned k = 0; k < UsedWords(set.words); ++k) used[k] = 0;
    for (unsigned at = 0; at < set.words; at += lanes) used[at / 64] |= AndVector(set, rows, at, out) << (at % 64);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kByWord = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kByWord = true;
#else
constexpr bool kByWord = false;
#endif
#else
constexpr bool kByWord = false;
#endif

}  // namespace

HWY_EXPORT(AndRowsByVector);

void AndRowsByWord(const RowSet& set, unsigned n, uint64_t* out, uint64_t* used) {
  const std::atomic<uint64_t>* const* rows = set.rows;
  for (unsigned i = 0; i < n; ++i, rows += set.chunk_count, out += set.words, used += UsedWords(set.words)) {
    std::fill_n(used, UsedWords(set.words), 0);
    for (unsigned at = 0; at < set.words; ++at) {
      uint64_t left = set.live[at];
      for (unsigned chunk = 0; chunk < set.chunk_count; ++chunk) {
        left &= rows[chunk][at].load(std::memory_order_relaxed) | set.passing[size_t{chunk} * set.words + at];
      }
      out[at] = left;
      used[at / 64] |= uint64_t{left != 0} << (at % 64);
    }
  }
}

void AndRows(const RowSet& set, unsigned n, uint64_t* out, uint64_t* used) {
  if (kByWord || set.words < 8) return AndRowsByWord(set, n, out, used);
  HWY_DYNAMIC_DISPATCH(AndRowsByVector)(set, n, out, used);
}

}  // namespace sluice
#endif  // HWY_ONCE
