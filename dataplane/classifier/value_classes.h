// One chunk of the mask index: which masks have a flow with a given 16-bit value.
//
// All values start in class 0. Values that some pair (value, mask) tells apart
// come to stand in different classes, so that a pair is a set of whole classes;
// a class has a row of bits, one a slot. The idea stands in mask_index.h.
//
// A node keeps the classes that a pair consists of. A pair with the full mask
// needs none: its value is alone in its class. Where a class splits, the new
// one has a copy of its row and joins its nodes; only then do its values' cells
// say so. Classes are never merged.
//
// Threads: ClassOf and rows are the workers', all else is the writer's. Cells and
// words of rows are stored to in place; a block of rows that is too small is
// replaced. A worker that loads the cell first and the block after finds the
// cell's class in the block.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/classifier/garbage.h"

namespace sluice {

// Rows of equal length on cache lines, or whole numbers of rows in one.
struct alignas(64) RowBlock {
  struct Delete {
    void operator()(RowBlock* block) const;
  };
  using Pointer = std::unique_ptr<RowBlock, Delete>;
  static Pointer New(uint32_t row_count, uint32_t stride);

  const uint32_t row_count;
  const uint32_t stride;  // words a row

  std::atomic<uint64_t>* row(uint32_t i) {
    return reinterpret_cast<std::atomic<uint64_t>*>(this + 1) + size_t{i} * stride;
  }
  const std::atomic<uint64_t>* row(uint32_t i) const {
    return reinterpret_cast<const std::atomic<uint64_t>*>(this + 1) + size_t{i} * stride;
  }
  uint64_t bytes() const { return sizeof(RowBlock) + uint64_t{row_count} * stride * sizeof(uint64_t); }
};

class ValueClasses {
 public:
  static constexpr uint32_t kValues = 1 << 16;
  // A block of rows that would be bigger is given up, and the chunk with it.
  static constexpr uint64_t kMaxBlockBytes = 32 << 20;

  explicit ValueClasses(uint32_t stride);
  ~ValueClasses();

  uint16_t ClassOf(uint16_t value) const { return cells_[value].load(std::memory_order_acquire); }
  const RowBlock& rows() const { return *rows_.load(std::memory_order_acquire); }

  // Sets the slot's bit for all x with (x & mask) == value. mask: not 0, and all
  // that the slot looks at here. True if a class had to split.
  bool Set(uint32_t slot, uint16_t value, uint16_t mask, Garbage& garbage);
  // Clears the slot's bits but for these values, which have them.
  void Keep(uint32_t slot, uint16_t mask, std::span<const uint16_t> values);
  void SetStride(uint32_t stride, Garbage& garbage);

  uint32_t class_count() const { return static_cast<uint32_t>(sizes_.size()); }
  // It ran out of its memory and says nothing true any more.
  bool given_up() const { return given_up_; }
  uint64_t Bytes() const;

 private:
  using Node = std::vector<uint16_t>;

  std::vector<uint16_t> ClassesOf(uint16_t value, uint16_t mask) const;
  uint16_t Alone(uint16_t value, Garbage& garbage);
  uint32_t NodeOf(uint16_t value, uint16_t mask, Garbage& garbage);
  uint16_t SplitOff(uint16_t from, Garbage& garbage);
  void MoveCell(uint16_t value, uint16_t to);
  void Replace(uint32_t row_count, uint32_t stride, Garbage& garbage);
  bool Has(uint16_t of_class, uint32_t slot) const;
  void Mark(uint16_t of_class, uint32_t slot);

  const std::unique_ptr<std::atomic<uint16_t>[]> cells_;  // by value
  std::atomic<RowBlock*> rows_;
  std::vector<uint32_t> sizes_;                    // values, by class
  std::vector<Node> nodes_;                        // pairs that are no single value
  std::vector<std::vector<uint32_t>> nodes_of_;    // by class
  absl::flat_hash_map<uint32_t, uint32_t> pairs_;  // mask << 16 | value, to the node
  uint64_t node_items_ = 0;
  bool given_up_ = false;
};

}  // namespace sluice
