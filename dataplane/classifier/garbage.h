// What a change has unpublished and workers may still read. Whoever made the
// change lets it live until a grace period has passed.

#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace sluice {

class Garbage {
 public:
  template <typename T, typename Deleter>
  void Add(std::unique_ptr<T, Deleter> object) {
    if (object != nullptr) objects_.push_back(std::shared_ptr<const void>(std::move(object)));
  }
  bool empty() const { return objects_.empty(); }

 private:
  std::vector<std::shared_ptr<const void>> objects_;
};

}  // namespace sluice
