// A frame in a heap block of exactly its size, so that AddressSanitizer sees the
// first byte read or written too far.

#pragma once

#include <algorithm>
#include <memory>

#include "dataplane/packet/frame.h"
#include "tests/support/packet_builder.h"

namespace sluice {

class HeapFrame {
 public:
  explicit HeapFrame(const Bytes& bytes, uint32_t headroom = 0)
      : HeapFrame(bytes, headroom, static_cast<uint32_t>(bytes.size())) {}

  // Only the first `length` bytes are there; the rest lies in further segments.
  HeapFrame(const Bytes& bytes, uint32_t headroom, uint32_t length)
      : block_(new uint8_t[headroom + length]),
        rest_(bytes.begin() + length, bytes.end()),
        frame_{block_.get() + headroom, length, static_cast<uint32_t>(bytes.size()), headroom} {
    std::copy_n(bytes.begin(), length, frame_.data);
  }

  Frame& frame() { return frame_; }

  // The whole frame as it is now.
  Bytes bytes() const {
    Bytes bytes(frame_.data, frame_.data + frame_.length);
    bytes.insert(bytes.end(), rest_.begin(), rest_.end());
    return bytes;
  }

 private:
  std::unique_ptr<uint8_t[]> block_;
  Bytes rest_;
  Frame frame_;
};

}  // namespace sluice
