// The variable `loop` of a for block.
#pragma once

#include "data/chat/jinja/interpreter.h"

namespace axle::jinja {

class Loop final : public Object, public std::enable_shared_from_this<Loop> {
 public:
  /// `depth` counts the recursive loops around it.
  Loop(Interpreter& interpreter, const Statement& node, Scope::Ptr scope,
       std::vector<Value> elements, int depth);
  /// Moves to the next element, at first to the first one. Returns false behind the last.
  bool advance() { return ++index_ < std::ssize(elements_); }
  const Value& current() const { return elements_[static_cast<size_t>(index_)]; }

  std::string_view type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(std::string_view name) override;
  bool is_callable() const override { return node_->is_recursive; }
  Value call(Machine& machine, const Arguments& arguments) override;
  std::optional<int64_t> length() const override { return std::ssize(elements_); }
  int depth() const override { return value_depth_; }

 private:
  Value cycle(Machine& machine, const Arguments& arguments) const;
  Value changed(Machine& machine, const Arguments& arguments);

  Interpreter* interpreter_;
  const Statement* node_;
  Scope::Ptr scope_;
  std::vector<Value> elements_;
  int loop_depth_, value_depth_;
  int64_t index_ = -1;
  std::optional<Value> last_changed_;
};

}  // namespace axle::jinja
