#include "dataplane/flow/slab.h"

#include <algorithm>
#include <new>
#include <utility>

#if defined(__has_feature)
#define SLUICE_HAS_FEATURE(x) __has_feature(x)
#else
#define SLUICE_HAS_FEATURE(x) 0
#endif

namespace sluice {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || SLUICE_HAS_FEATURE(address_sanitizer) || \
    SLUICE_HAS_FEATURE(thread_sanitizer)
constexpr bool kOneByOne = true;
#else
constexpr bool kOneByOne = false;
#endif

constexpr std::align_val_t kLine{64};
constexpr size_t kChunkBytes = 32 * 1024;

}  // namespace

Slab::~Slab() { DropChunks(); }

void* Slab::Allocate() {
  if (kOneByOne) return ::operator new(object_bytes_, kLine);
  ++live_;
  if (free_ != nullptr) return std::exchange(free_, free_->next);
  if (static_cast<size_t>(end_ - unused_) < object_bytes_) AddChunk();
  return std::exchange(unused_, unused_ + object_bytes_);
}

void Slab::Free(void* object) {
  if (kOneByOne) return ::operator delete(object, kLine);
  free_ = new (object) FreeObject{free_};
  if (--live_ == 0 && chunks_.size() > 1) DropChunks();
}

void Slab::AddChunk() {
  const size_t bytes = std::max(kChunkBytes, object_bytes_);
  chunks_.push_back(::operator new(bytes, kLine));
  unused_ = static_cast<char*>(chunks_.back());
  end_ = unused_ + bytes;
}

void Slab::DropChunks() {
  for (void* chunk : chunks_) ::operator delete(chunk, kLine);
  chunks_.clear();
  free_ = nullptr;
  unused_ = end_ = nullptr;
}

}  // namespace sluice
