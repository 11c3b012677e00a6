#include "dataplane/classifier/hash.h"

#include <random>

namespace sluice {

HashKey HashKey::Random() {
  std::random_device source;
  const auto word = [&source] { return uint64_t{source()} << 32 | source(); };
  const uint64_t seed = word();
  // Odd, so that no bit of a word is multiplied away.
  return {.seed = seed, .multiplier = word() | 1};
}

}  // namespace sluice
