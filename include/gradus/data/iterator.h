// One pass over a DataLoader's batches.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <gradus/core/error.h>

namespace gradus {
inline namespace v0 {
namespace data {

/// An input iterator: copies share one place, and a batch is gone once the iterator moves on.
template <class Batch>
class Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using pointer = Batch*;
  using reference = Batch&;

  /// The end.
  Iterator() = default;
  explicit Iterator(std::function<std::optional<Batch>()> next) : pass_(std::make_shared<Pass>()) {
    pass_->next = std::move(next);
  }

  Iterator& operator++() {
    GRADUS_CHECK(!at_end(), "DataLoader: ++ on the end iterator; expected an iterator that has a batch");
    pass_->batch = pass_->next();
    return *this;
  }
  Batch& operator*() const {
    GRADUS_CHECK(!at_end(), "DataLoader: * on the end iterator; expected an iterator that has a batch");
    return *pass_->batch;
  }
  Batch* operator->() const { return &**this; }
  bool operator==(const Iterator& o) const { return pass_ == o.pass_ || (at_end() && o.at_end()); }
  bool operator!=(const Iterator& o) const { return !(*this == o); }

 private:
  struct Pass {
    std::function<std::optional<Batch>()> next;
    std::optional<Batch> batch;
    bool begun = false;
  };

  // The first batch is fetched when it is first asked for, so that begin() is cheap.
  bool at_end() const {
    if (!pass_) return true;
    if (!pass_->begun) {
      pass_->begun = true;
      pass_->batch = pass_->next();
    }
    return !pass_->batch;
  }

  std::shared_ptr<Pass> pass_;
};

}  // namespace data
}  // namespace v0
}  // namespace gradus
