#include "data/chat/jinja/loop.h"

#include <fmt/format.h>

namespace axle::jinja {

Loop::Loop(Interpreter& interpreter, const Statement& node, Scope::Ptr scope,
           std::vector<Value> elements, int depth)
    : interpreter_(&interpreter),
      node_(&node),
      scope_(std::move(scope)),
      elements_(std::move(elements)),
      loop_depth_(depth),
      value_depth_(depth_around(elements_)) {}

std::optional<Value> Loop::attribute(std::string_view name) {
  const int64_t count = std::ssize(elements_);
  if (name == "index") return index_ + 1;
  if (name == "index0") return index_;
  if (name == "revindex") return count - index_;
  if (name == "revindex0") return count - index_ - 1;
  if (name == "first") return index_ == 0;
  if (name == "last") return index_ + 1 == count;
  if (name == "length") return count;
  if (name == "depth") return loop_depth_ + 1;
  if (name == "depth0") return loop_depth_;
  if (name == "previtem") {
    if (index_ == 0) return Value::undefined("there is no previous item");
    return elements_[static_cast<size_t>(index_ - 1)];
  }
  if (name == "nextitem") {
    if (index_ + 1 >= count) return Value::undefined("there is no next item");
    return elements_[static_cast<size_t>(index_ + 1)];
  }
  if (name != "cycle" && name != "changed") return std::nullopt;
  return Value(std::shared_ptr<Object>(std::make_shared<Function>(
      std::string(name),
      [self = shared_from_this(), is_cycle = name == "cycle"](Machine& machine,
                                                              const Arguments& arguments) {
        return is_cycle ? self->cycle(machine, arguments) : self->changed(machine, arguments);
      },
      value_depth_ + 1)));
}

Value Loop::cycle(Machine&, const Arguments& arguments) const {
  if (arguments.positional.empty() || !arguments.named.empty())
    throw JinjaError("loop.cycle: expected values without names, got none or others");
  return arguments.positional[static_cast<size_t>(index_) % arguments.positional.size()];
}

Value Loop::changed(Machine& machine, const Arguments& arguments) {
  Value now = Value::tuple(arguments.positional);
  if (last_changed_ && equals(*last_changed_, now, machine.budget)) return false;
  value_depth_ = std::max(value_depth_, now.depth() + 1);
  last_changed_ = std::move(now);
  return true;
}

Value Loop::call(Machine& machine, const Arguments& arguments) {
  if (!node_->is_recursive) {
    throw JinjaError("expected a loop marked `recursive`, since it is called, got a plain one");
  }
  const Parameters parameters(arguments, "loop", {"iterable"});
  return machine.text(interpreter_->capture_loop(
      *node_, scope_, elements_of(machine, parameters.at("iterable")), loop_depth_ + 1));
}

}  // namespace axle::jinja
