// The names that a part of a template sees.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/jinja/value.h"

namespace axle::jinja {

/// Names that were set in a block, and those of the blocks around it. Macros keep the scope that
/// they were defined in.
class Scope {
 public:
  using Ptr = std::shared_ptr<Scope>;
  explicit Scope(Ptr parent) : parent_(std::move(parent)) {
    depth_ = parent_ ? parent_->depth_ + 1 : 1;
    if (depth_ > kMaxDepth) throw JinjaError("expected fewer macros that define macros, got more");
  }
  void set(std::string_view name, Value value) {
    for (auto& [one, there] : names_) {
      if (one != name) continue;
      there = std::move(value);
      return;
    }
    names_.emplace_back(name, std::move(value));
  }
  /// Returns nullptr if the name was not set.
  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->parent_.get()) {
      for (const auto& [one, value] : scope->names_) {
        if (one == name) return &value;
      }
    }
    return nullptr;
  }

 private:
  Ptr parent_;
  std::vector<std::pair<std::string, Value>> names_;
  int depth_;
};

}  // namespace axle::jinja
