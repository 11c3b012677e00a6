// Memory for many objects of one size, packed on cache lines.
//
// Objects of a power of two up to 64 bytes never straddle a line, and none has a
// header. What is freed is kept for the next; all goes back to the system when
// no object is left. Sanitizer builds take each object from the heap by itself,
// so that a use after free is seen.
//
// The caller sees to it that one thread is in here at a time.

#pragma once

#include <cstddef>
#include <vector>

namespace sluice {

class Slab {
 public:
  explicit Slab(size_t object_bytes) : object_bytes_(object_bytes) {}
  // Whatever is still allocated goes too, without a destructor.
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  void* Allocate();
  void Free(void* object);

 private:
  struct FreeObject {
    FreeObject* next;
  };

  void AddChunk();
  void DropChunks();

  const size_t object_bytes_;
  size_t live_ = 0;
  FreeObject* free_ = nullptr;
  char* unused_ = nullptr;  // the rest of the last chunk
  char* end_ = nullptr;
  std::vector<void*> chunks_;
};

}  // namespace sluice
