// Any bytes as a frame, cut into segments anywhere: the parser finds what its
// slow twin finds, asks for more exactly where a header is not all there, and
// reads not a byte beyond (the first segment is a heap block of its size).
//
// Input: in_port (2 bytes), length of the first segment (2), the frame.

#include <cstring>

#include "dataplane/packet/parse.h"
#include "tests/fuzz/input.h"
#include "tests/support/heap_frame.h"
#include "tests/support/reference_parser.h"

namespace sluice::fuzz {
namespace {

void Check(const Bytes& bytes, uint32_t in_port, size_t length, const ReferenceResult& expected) {
  HeapFrame heap(bytes, 0, static_cast<uint32_t>(length));
  PacketKey key;
  std::memset(static_cast<void*>(&key), 0xa5, sizeof key);
  std::memset(key.words() + kFirstPipelineWord, 0, (kKeyWords - kFirstPipelineWord) * sizeof(uint64_t));
  HeaderLayout layout;
  const ParseResult result = Parse(heap.frame(), in_port, key, layout);
  const auto expect = [&](bool right, const char* wrong) {
    if (!right) Fail(std::string(wrong) + ": " + std::to_string(length) + " bytes of " + ToHex(bytes));
  };
  expect(heap.bytes() == bytes, "the frame was written to");
  if (expected.result == ParseResult::kTooShort) {
    expect(result == ParseResult::kTooShort, "not too short");
  } else if (length < expected.header_bytes) {
    expect(result == ParseResult::kNeedMore, "headers are missing and it asks for no more");
  } else {
    expect(result == expected.result, "another result than the twin's");
    expect(key == expected.key, "another key than the twin's");
    expect(layout == expected.layout, "another layout than the twin's");
  }
}

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  fuzz::Input input(data, size);
  const uint32_t in_port = input.U16();
  const uint16_t cut = input.U16();
  const Bytes bytes = input.RestAsBytes();
  const ReferenceResult expected = ReferenceParse(bytes, in_port);
  fuzz::Check(bytes, in_port, bytes.size(), expected);
  fuzz::Check(bytes, in_port, cut % (bytes.size() + 1), expected);
  if (expected.header_bytes <= bytes.size()) {
    fuzz::Check(bytes, in_port, expected.header_bytes, expected);
    fuzz::Check(bytes, in_port, expected.header_bytes - 1, expected);
  }
  return 0;
}
