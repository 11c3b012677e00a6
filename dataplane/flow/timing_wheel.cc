#include "dataplane/flow/timing_wheel.h"

#include <algorithm>

namespace sluice {

void TimingWheel::File(Item item, uint64_t tick) {
  Unfile(item);
  if (heads_.empty()) heads_.resize(kSlots, 0);
  if (item >= links_.size()) links_.resize(item + 1);
  const auto slot = static_cast<uint32_t>(std::clamp(tick, next_, next_ + kSlots - 1) % kSlots);
  Item& head = heads_[slot];
  links_[item] = {.before = 0, .after = head, .slot = slot};
  if (head != 0) links_[head].before = item;
  head = item;
  ++size_;
}

void TimingWheel::Unfile(Item item) {
  if (!filed(item)) return;
  Link& link = links_[item];
  if (link.before != 0) {
    links_[link.before].after = link.after;
  } else {
    heads_[link.slot] = link.after;
  }
  if (link.after != 0) links_[link.after].before = link.before;
  link = {};
  --size_;
}

bool TimingWheel::Take(uint64_t now, size_t most, std::vector<Item>& out) {
  for (uint64_t ticks = 0; next_ <= now; ++next_, ++ticks) {
    if (size_ == 0) {
      next_ = now + 1;
      break;
    }
    if (ticks == kMostTicks) return false;
    const Item& head = heads_[next_ % kSlots];
    while (head != 0) {
      if (most-- == 0) return false;
      out.push_back(head);
      Unfile(head);
    }
  }
  return true;
}

}  // namespace sluice
