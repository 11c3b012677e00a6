// A table's masks as published: what a lookup walks over. Immutable.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/classifier/mask_cache.h"
#include "dataplane/classifier/mask_index.h"
#include "dataplane/classifier/subtable.h"

namespace sluice {

struct MaskArray {
  struct Item {
    uint64_t bound;  // no entry from here on has a rank above it that counts
    Subtable* subtable;
  };

  std::vector<Item> items{};         // by descending bound; as many as there are masks, exactly
  std::optional<Pruning> pruning{};  // none: all are tried
  MaskCache* cache = nullptr;        // null: off
};

}  // namespace sluice
