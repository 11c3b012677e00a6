#include "dataplane/flow/slab.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace sluice {
namespace {

TEST(SlabTest, ObjectsAreApartAndAligned) {
  Slab slab(64);
  std::vector<void*> objects;
  for (int i = 0; i < 5000; ++i) {
    objects.push_back(slab.Allocate());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(objects.back()) % 64, 0u);
    std::memset(objects.back(), i % 251, 64);
  }
  for (int i = 0; i < 5000; ++i) {
    for (int byte = 0; byte < 64; ++byte) ASSERT_EQ(static_cast<uint8_t*>(objects[i])[byte], i % 251);
  }
  for (void* object : objects) slab.Free(object);
}

TEST(SlabTest, WhatIsFreedIsUsedAgain) {
  Slab slab(96);
  std::vector<void*> objects;
  for (int round = 0; round < 3; ++round) {
    std::set<void*> seen;
    for (int i = 0; i < 2000; ++i) {
      objects.push_back(slab.Allocate());
      EXPECT_TRUE(seen.insert(objects.back()).second);
      std::memset(objects.back(), 0xff, 96);
    }
    // Some the first time, all the second.
    while (objects.size() > (round == 0 ? 700u : 0u)) {
      slab.Free(objects.back());
      objects.pop_back();
    }
  }
}

}  // namespace
}  // namespace sluice
