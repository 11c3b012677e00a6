#include "dataplane/classifier/range_index.h"

#include <algorithm>
#include <bit>

namespace sluice {
namespace {

// Where a range begins, or the port behind it; and of which item, in the bits
// below: numbers are sorted faster than pairs.
constexpr int kItemBits = 8;
static_assert(RangeBlock::kMaxEntries <= 1 << kItemBits);

constexpr uint32_t EndOf(uint32_t port, uint32_t item) { return port << kItemBits | item; }
constexpr uint32_t PortOf(uint32_t end) { return end >> kItemBits; }
constexpr uint32_t ItemOf(uint32_t end) { return end & ((1 << kItemBits) - 1); }

}  // namespace

RangeBlock::RangeBlock(std::span<const Item> items)
    : source_(items, &PortRanges::source), destination_(items, &PortRanges::destination) {
  entries_.reserve(items.size());
  for (const Item& item : items) entries_.push_back(item.entry);
}

const ClassifierEntry* RangeBlock::First(Ports ports, uint64_t version) const {
  const Bitmap& sources = source_.Of(ports.source);
  const Bitmap& destinations = destination_.Of(ports.destination);
  for (size_t word = 0; word < kWords; ++word) {
    for (uint64_t both = sources[word] & destinations[word]; both != 0; both &= both - 1) {
      const ClassifierEntry* entry = entries_[64 * word + static_cast<size_t>(std::countr_zero(both))];
      if (entry->VisibleAt(version)) return entry;
    }
  }
  return nullptr;
}

RangeBlock::Axis::Axis(std::span<const Item> items, PortRange PortRanges::*port) {
  std::vector<uint32_t> ends;
  ends.reserve(2 * items.size());
  for (uint32_t i = 0; i < items.size(); ++i) {
    const PortRange range = items[i].ranges.*port;
    ends.push_back(EndOf(range.first, i));
    ends.push_back(EndOf(range.last + uint32_t{1}, i));
  }
  std::ranges::sort(ends);
  first_.reserve(ends.size() + 1);
  members_.reserve(ends.size() + 1);
  Bitmap open{};
  size_t next = 0;
  for (uint32_t first = 0; first <= 0xffff; first = PortOf(ends[next])) {
    for (; next < ends.size() && PortOf(ends[next]) == first; ++next) {
      open[ItemOf(ends[next]) / 64] ^= uint64_t{1} << ItemOf(ends[next]) % 64;
    }
    first_.push_back(static_cast<uint16_t>(first));
    members_.push_back(open);
    if (next == ends.size()) break;
  }
  size_t interval = 0;
  for (uint32_t page = 0; page < 256; ++page) {
    while (interval + 1 < first_.size() && first_[interval + 1] <= 256 * page) ++interval;
    at_page_[page] = static_cast<uint16_t>(interval);
  }
  at_page_[256] = static_cast<uint16_t>(first_.size() - 1);
}

const RangeBlock::Bitmap& RangeBlock::Axis::Of(uint16_t port) const {
  size_t interval = at_page_[port >> 8];
  size_t beyond = at_page_[(port >> 8) + 1] + size_t{1};
  while (beyond - interval > 1) {
    const size_t middle = (interval + beyond) / 2;
    if (first_[middle] <= port) {
      interval = middle;
    } else {
      beyond = middle;
    }
  }
  return members_[interval];
}

}  // namespace sluice
