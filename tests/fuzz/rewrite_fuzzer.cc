// Actions on a frame: whatever the frame, the list and the room in front of it,
// each action does what it says and nothing else, the layout that is kept along
// is the one that parsing finds, and nothing outside the heap block is touched.
//
// Input: the number of actions (1 byte), headroom (1), length of the first
// segment (2), the actions (see Step), the frame.

#include <algorithm>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/rewrite.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/rewrite_model.h"
#include "tests/support/heap_frame.h"

namespace sluice::fuzz {
namespace {

constexpr unsigned kMaxActions = 16;
constexpr unsigned kMaxHeadroom = 24;  // six tags or labels

struct Step {
  enum Kind { kPush, kPop, kDecTtl, kPushMpls, kPopMpls, kDecMplsTtl, kSet } kind = kPush;
  uint16_t eth_type = 0;
  Field field = Field::kNone;
  absl::uint128 value = 0;
  absl::uint128 mask = 0;
};

// What MPLS actions say.
uint16_t MplsType(uint8_t kind) { return (kind & 0x80) != 0 ? 0x8848 : 0x8847; }
uint16_t TypeBelow(uint8_t kind) {
  constexpr uint16_t kTypes[] = {0x0800, 0x86dd, 0x8847, 0x8100};
  return kTypes[kind >> 6];
}

// One byte that says what; for a field, its number and then value and, if the
// first byte says so, mask, in as many bytes as it has.
Step ReadStep(Input& input) {
  const uint8_t kind = input.Byte();
  Step step;
  step.kind = kind % 8 < 3 ? static_cast<Step::Kind>(kind % 8) : Step::kSet;
  step.eth_type = (kind & 0x80) != 0 ? 0x88a8 : 0x8100;
  if (kind % 8 == 7 && (kind & 0x20) != 0) {
    constexpr Step::Kind kMpls[] = {Step::kPushMpls, Step::kPopMpls, Step::kDecMplsTtl, Step::kPopMpls};
    step.kind = kMpls[kind >> 3 & 3];
    step.eth_type = step.kind == Step::kPushMpls ? MplsType(kind) : TypeBelow(kind);
  }
  if (step.kind != Step::kSet) return step;
  step.field = static_cast<Field>(input.Byte() % (kFieldCount - 1) + 1);
  const unsigned bits = LayoutOf(step.field).bits;
  step.value = input.Number((bits + 7) / 8);
  step.mask = (kind & 0x40) != 0 ? input.Number((bits + 7) / 8) : absl::Uint128Max();
  return step;
}

class Subject {
 public:
  Subject(const Bytes& bytes, uint32_t headroom, uint32_t length) : frame_(bytes, headroom, length) {
    PacketKey key;
    if (Parse(frame_.frame(), 1, key, layout_) == ParseResult::kNeedMore) Fail("headers are there, and more is wanted");
  }

  // False if the layout can no longer be told from the frame.
  bool Do(const Step& step) {
    const Reading before(frame_.bytes(), layout_);
    switch (step.kind) {
      case Step::kPush:
        Push(before, step.eth_type);
        return true;
      case Step::kPop:
        return Pop(before);
      case Step::kDecTtl:
        DecTtl(before);
        return true;
      case Step::kPushMpls:
        PushLabel(before, step.eth_type);
        return true;
      case Step::kPopMpls:
        return PopLabel(before, step.eth_type);
      case Step::kDecMplsTtl:
        DecMplsTtl(before);
        return true;
      case Step::kSet:
        Set(before, step);
        return true;
    }
    return true;
  }

 private:
  void Expect(bool right, const char* what) const {
    if (!right) Fail(std::string(what) + ": " + ToHex(frame_.bytes()));
  }

  void Push(const Reading& before, uint16_t tpid) {
    const bool has_room = frame_.frame().headroom >= 4;
    const bool pushed = PushVlan(frame_.frame(), layout_, tpid);
    Expect(pushed == has_room, "a tag needs four bytes of headroom");
    Bytes expected = before.bytes;
    if (pushed) {
      const bool tagged = before.inner.layout.vlan_tags > 0;
      const Bytes tag = {static_cast<uint8_t>(tpid >> 8), static_cast<uint8_t>(tpid),
                         tagged ? static_cast<uint8_t>(expected.at(14) & 0xef) : uint8_t{0},
                         tagged ? expected.at(15) : uint8_t{0}};
      expected.insert(expected.begin() + 12, tag.begin(), tag.end());
    }
    Expect(frame_.bytes() == expected, "not the frame with a tag");
    Expect(layout_ == Reading(expected, layout_).Layout(), "another layout than parsing finds after push_vlan");
  }

  bool Pop(const Reading& before) {
    const bool tagged = layout_.vlan_tags > 0;
    PopVlan(frame_.frame(), layout_);
    Bytes expected = before.bytes;
    if (tagged) {
      std::copy(expected.begin() + 16, expected.end(), expected.begin() + 12);
      expected.resize(expected.size() - 4);
    }
    Expect(frame_.bytes() == expected, "not the frame without its tag");
    const uint16_t type = before.inner.layout.eth_type;
    return LayoutIsRight(expected, tagged && (type == 0x8100 || type == 0x88a8));
  }

  // anew: it was looked for. False if it can no longer be told from the frame.
  bool LayoutIsRight(const Bytes& expected, bool anew) {
    const Reading after(expected, layout_);
    if (anew && after.inner.header_bytes > frame_.frame().length) {
      // Only a part of what came within reach is there, and is left alone: a
      // checksum could not be renewed with it.
      Expect(layout_.l3 == 0 && layout_.l4 == 0 && !layout_.nd, "headers that are not all there would be rewritten");
      return false;
    }
    Expect(layout_ == after.Layout(), "another layout than parsing finds after a header was removed");
    Expect(!anew || layout_.nd == after.inner.layout.nd, "neighbour discovery behind a header that was removed");
    return true;
  }

  void PushLabel(const Reading& before, uint16_t eth_type) {
    const bool has_room = frame_.frame().headroom >= 4;
    Expect(PushMpls(frame_.frame(), layout_, eth_type) == has_room, "a label needs four bytes of headroom");
    Bytes expected = before.bytes;
    if (has_room) {
      const size_t at = PayloadAt(before);
      const uint32_t entry = EntryToPush(before);
      Bytes label;
      for (int shift = 24; shift >= 0; shift -= 8) label.push_back(static_cast<uint8_t>(entry >> shift));
      expected.insert(expected.begin() + static_cast<ptrdiff_t>(at), label.begin(), label.end());
      PutType(expected, before, at, eth_type, 4);
    }
    Expect(frame_.bytes() == expected, "not the frame with a label");
    Expect(layout_ == Reading(expected, layout_).Layout(), "another layout than parsing finds after push_mpls");
  }

  bool PopLabel(const Reading& before, uint16_t eth_type) {
    const bool labelled = layout_.mpls != 0;
    PopMpls(frame_.frame(), layout_, eth_type);
    Bytes expected = before.bytes;
    if (labelled) {
      const auto at = static_cast<ptrdiff_t>(PayloadAt(before));
      expected.erase(expected.begin() + at, expected.begin() + at + 4);
      PutType(expected, before, static_cast<size_t>(at), eth_type, -4);
    }
    Expect(frame_.bytes() == expected, "not the frame without its label");
    return LayoutIsRight(expected, labelled);
  }

  // In front of what begins at `at`; SNAP has a length before it, which changes.
  static void PutType(Bytes& bytes, const Reading& before, size_t at, uint16_t eth_type, int change) {
    bytes.at(at - 2) = static_cast<uint8_t>(eth_type >> 8);
    bytes.at(at - 1) = static_cast<uint8_t>(eth_type);
    const size_t length_at = 12 + 4u * before.Layout().vlan_tags;
    if (length_at + 2 == at) return;
    const int length = bytes.at(length_at) * 256 + bytes.at(length_at + 1) + change;
    if (length < 0 || length >= 0x600) return;
    bytes.at(length_at) = static_cast<uint8_t>(length >> 8);
    bytes.at(length_at + 1) = static_cast<uint8_t>(length);
  }

  void DecMplsTtl(const Reading& before) {
    const absl::uint128 ttl = ReadField(before, Field::kMplsTtl);
    const bool has_ttl = HasField(before, Field::kMplsTtl) && ttl > 1;
    Expect(DecrementMplsTtl(frame_.frame(), layout_) == has_ttl, "a TTL of 2 or more can be decremented, and no other");
    Judge(before, Field::kMplsTtl, has_ttl, ttl - 1);
  }

  void DecTtl(const Reading& before) {
    const absl::uint128 ttl = ReadField(before, Field::kIpTtl);
    const bool has_ttl = HasField(before, Field::kIpTtl) && ttl > 1;
    Expect(DecrementTtl(frame_.frame(), layout_) == has_ttl, "a TTL of 2 or more can be decremented, and no other");
    Judge(before, Field::kIpTtl, has_ttl, ttl - 1);
  }

  void Set(const Reading& before, const Step& step) {
    SetField(frame_.frame(), layout_, step.field, step.value, step.mask);
    const absl::uint128 kept = ReadField(before, step.field) & ~step.mask;
    Judge(before, step.field, HasField(before, step.field), kept | (step.value & step.mask));
  }

  void Judge(const Reading& before, Field field, bool changed, absl::uint128 value) {
    if (!changed) return Expect(frame_.bytes() == before.bytes, "the frame lacks the field and has changed");
    const Reading after(frame_.bytes(), layout_);
    const std::string wrong = JudgeChange(before, after, field, value);
    if (!wrong.empty())
      Fail("field " + std::to_string(static_cast<int>(field)) + ": " + wrong + ": " + ToHex(after.bytes));
    Expect(layout_ == after.Layout(), "another layout than parsing finds");
  }

  HeapFrame frame_;
  HeaderLayout layout_;
};

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  fuzz::Input input(data, size);
  const unsigned count = input.Byte() % fuzz::kMaxActions + 1;
  const uint32_t headroom = input.Byte() % (fuzz::kMaxHeadroom + 1);
  const uint16_t cut = input.U16();
  std::vector<fuzz::Step> steps;
  for (unsigned i = 0; i < count; ++i) steps.push_back(fuzz::ReadStep(input));
  const Bytes bytes = input.RestAsBytes();
  const ReferenceResult parsed = ReferenceParse(bytes, 1);
  if (parsed.result == ParseResult::kTooShort) return 0;  // dropped before any action
  const size_t length = std::max(parsed.header_bytes, cut % (bytes.size() + 1));
  fuzz::Subject subject(bytes, headroom, static_cast<uint32_t>(length));
  for (const fuzz::Step& step : steps) {
    if (!subject.Do(step)) break;
  }
  return 0;
}
