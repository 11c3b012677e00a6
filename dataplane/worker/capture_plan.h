// What workers know of captures: part of a snapshot, immutable but for the rings.
//
// Rings are made with the first capture and live as long as one is there, or a
// snapshot names them.

#pragma once

#include <memory>
#include <vector>

#include "dataplane/capture.h"
#include "dataplane/flow/byte_ring.h"

namespace sluice {

inline constexpr size_t kCaptureRingBytes = 4 << 20;  // of each worker

// By worker, each of whom puts into its own; one thread drains all.
using CaptureRings = std::vector<std::unique_ptr<ByteRing>>;

struct CapturePlan {
  std::vector<std::shared_ptr<Capture>> captures;  // at least one
  std::shared_ptr<CaptureRings> rings;
};

}  // namespace sluice
