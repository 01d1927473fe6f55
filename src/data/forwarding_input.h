// Inputs whose rows come from another one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/input.h"

namespace axle {

/// Hands every call on to the input that the class chooses at its construction.
class ForwardingInput : public Input {
 public:
  Tree<Type> element_spec() const override { return rows_->element_spec(); }
  std::optional<Batch> next() override { return rows_->next(); }
  std::string state() const override { return rows_->state(); }
  void restore(std::string_view state) override { rows_->restore(state); }
  InputFacts facts() const override { return rows_->facts(); }
  /// May read texts in memory once more.
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override {
    return rows_->origins_of_batch(batch);
  }

 protected:
  std::unique_ptr<Input> rows_;
};

}  // namespace axle
