// A macro as a value, and the body of a call block as `caller`.
#pragma once

#include <string>

#include "data/chat/jinja/interpreter.h"

namespace axle::jinja {

class Macro final : public Object {
 public:
  /// `node` has the parameters and the body; `scope` is where it was defined.
  Macro(Interpreter& interpreter, const Statement& node, std::string name, Scope::Ptr scope)
      : interpreter_(&interpreter),
        node_(&node),
        name_(std::move(name)),
        scope_(std::move(scope)) {}
  std::string_view type_name() const override { return "Macro"; }
  std::string repr(Machine&) const override { return "<Macro '" + name_ + "'>"; }
  bool is_callable() const override { return true; }
  std::optional<Value> attribute(std::string_view name) override;
  Value call(Machine& machine, const Arguments& arguments) override;
  void clear() override { scope_.reset(); }

 private:
  void bind(const Arguments& arguments, Scope& inner, std::vector<bool>& is_given) const;

  Interpreter* interpreter_;
  const Statement* node_;
  std::string name_;
  Scope::Ptr scope_;
};

}  // namespace axle::jinja
