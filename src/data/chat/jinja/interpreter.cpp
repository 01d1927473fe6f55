#include "data/chat/jinja/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/chat/jinja/builtins.h"

namespace axle::jinja {

std::string Interpreter::run(const Body& body, const Scope::Ptr& scope) {
  std::string out;
  out_ = &out;
  run_body(body, scope);
  return out;
}

std::string Interpreter::capture(const Body& body, const Scope::Ptr& scope) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  const bool was_captured = std::exchange(is_captured_, true);
  run_body(body, scope);
  out_ = outer;
  is_captured_ = was_captured;
  return text;
}

std::string Interpreter::capture_loop(const Statement& node, const Scope::Ptr& scope,
                                      std::vector<Value> elements, int depth) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  const bool was_captured = std::exchange(is_captured_, true);
  run_loop(node, scope, std::move(elements), depth);
  out_ = outer;
  is_captured_ = was_captured;
  return text;
}

void Interpreter::put_out(std::string_view text) {
  budget.bytes(text.size());
  budget.check_output(out_->size() + text.size());
  *out_ += text;
}

Interpreter::Flow Interpreter::run_body(const Body& body, const Scope::Ptr& scope) {
  const Budget::Level level(budget);
  for (const auto& statement : body) {
    if (const Flow flow = run_statement(*statement, scope); flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_statement(const Statement& node, const Scope::Ptr& scope) {
  budget.step();
  line_ = node.line;
  switch (node.kind) {
    case StatementKind::kText:
      put_out(node.text);
      break;
    case StatementKind::kOutput:
      put_out(to_text(*this, evaluate(*node.expression, scope)));
      break;
    case StatementKind::kIf:
      return run_if(node, scope);
    case StatementKind::kFor:
      run_for(node, scope);
      break;
    case StatementKind::kSet:
      assign(node.target, evaluate(*node.expression, scope), scope);
      break;
    case StatementKind::kSetBlock:
      run_set(node, scope);
      break;
    case StatementKind::kMacro:
      scope->set(node.text, keep(std::make_shared<Macro>(*this, node, node.text, scope)));
      break;
    case StatementKind::kCallBlock:
      run_call_block(node, scope);
      break;
    case StatementKind::kFilter: {
      Value body = capture(node.body, std::make_shared<Scope>(scope));
      put_out(to_text(*this, filtered(*node.expression, body, scope)));
      break;
    }
    case StatementKind::kWith:
      run_with(node, scope);
      break;
    case StatementKind::kGeneration:
      run_generation(node, scope);
      break;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_if(const Statement& node, const Scope::Ptr& scope) {
  for (const auto& [condition, body] : node.branches) {
    if (!condition || is_true(evaluate(*condition, scope))) return run_body(body, scope);
  }
  return Flow::kNext;
}

void Interpreter::run_for(const Statement& node, const Scope::Ptr& scope) {
  run_loop(node, scope, elements_of(*this, evaluate(*node.expression, scope)), 0);
}

void Interpreter::run_loop(const Statement& node, const Scope::Ptr& scope,
                           std::vector<Value> elements, int depth) {
  const Budget::Level level(budget);
  if (node.condition) {
    std::erase_if(elements, [&](const Value& element) {
      const auto inner = std::make_shared<Scope>(scope);
      assign(node.target, element, inner);
      return !is_true(evaluate(*node.condition, inner));
    });
  }
  bool ends_a_round = false;
  const auto loop = std::make_shared<Loop>(*this, node, scope, std::move(elements), depth);
  while (loop->advance()) {
    budget.step();
    const auto inner = std::make_shared<Scope>(scope);
    inner->set("loop", std::shared_ptr<Object>(loop));
    assign(node.target, loop->current(), inner);
    const Flow flow = run_round(node, inner, loop->current());
    if (flow == Flow::kBreak) break;
    ends_a_round = ends_a_round || flow == Flow::kNext;
  }
  // As Jinja2 does: rounds that `break` or `continue` leaves early do not count.
  if (!ends_a_round && !node.otherwise.empty())
    run_body(node.otherwise, std::make_shared<Scope>(scope));
}

Interpreter::Flow Interpreter::run_round(const Statement& node, const Scope::Ptr& scope,
                                         const Value& element) {
  const size_t begin = out_->size();
  const Flow flow = run_body(node.body, scope);
  if (!is_captured_ && element.is_dict() && out_->size() > begin) {
    budget.bytes(sizeof(Round));
    rounds_.push_back({element, {begin, out_->size()}});
  }
  return flow;
}

void Interpreter::run_set(const Statement& node, const Scope::Ptr& scope) {
  Value text = capture(node.body, std::make_shared<Scope>(scope));
  assign(node.target, node.expression ? filtered(*node.expression, text, scope) : text, scope);
}

// Applies the filters of a block to its text: the innermost filter has no child.
Value Interpreter::filtered(const Expression& node, const Value& body, const Scope::Ptr& scope) {
  const Value input = node.children.empty() ? body : filtered(*node.children[0], body, scope);
  line_ = node.line;
  return apply_filter(node.text, input, evaluate_arguments(node.arguments, scope));
}

void Interpreter::run_call_block(const Statement& node, const Scope::Ptr& scope) {
  const Expression& call_node = *node.expression;
  const Value callable = evaluate(*call_node.children[0], scope);
  Arguments arguments = evaluate_arguments(call_node.arguments, scope);
  arguments.named.emplace_back("caller",
                               keep(std::make_shared<Macro>(*this, node, "caller", scope)));
  put_out(to_text(*this, call(callable, arguments)));
}

void Interpreter::run_with(const Statement& node, const Scope::Ptr& scope) {
  const auto inner = std::make_shared<Scope>(scope);
  for (const auto& [target, expression] : node.assignments)
    assign(target, evaluate(*expression, scope), inner);
  run_body(node.body, inner);
}

void Interpreter::run_generation(const Statement& node, const Scope::Ptr& scope) {
  const size_t begin = out_->size();
  run_body(node.body, std::make_shared<Scope>(scope));
  if (is_captured_)
    has_lost_generation_ = true;
  else
    generations_.push_back({begin, out_->size()});
}

void Interpreter::assign(const Target& target, const Value& value, const Scope::Ptr& scope) {
  if (target.is_tuple) {
    require_defined(value);
    const std::vector<Value> elements = elements_of(*this, value);
    if (elements.size() != target.parts.size()) {
      throw JinjaError(fmt::format("expected {} values for as many names, got {}",
                                   target.parts.size(), elements.size()));
    }
    for (size_t i = 0; i < elements.size(); ++i) assign(target.parts[i], elements[i], scope);
  } else if (target.field) {
    const Value* const object = scope->find(target.name);
    auto* const fields = object ? object->as<Namespace>() : nullptr;
    if (!fields) {
      throw JinjaError(
          fmt::format("expected '{0}' to be a namespace, got a value of type {1}; "
                      "{{% set {0} = namespace() %}} makes one",
                      target.name, object ? object->type_name() : "Undefined"));
    }
    budget.bytes(sizeof(Value) + target.field->size());
    fields->set(*target.field, value);
  } else {
    budget.bytes(sizeof(Value));
    scope->set(target.name, value);
  }
}

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
    return elements_[index_ - 1];
  }
  if (name == "nextitem") {
    if (index_ + 1 >= count) return Value::undefined("there is no next item");
    return elements_[index_ + 1];
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

std::optional<Value> Macro::attribute(std::string_view name) {
  if (name == "name") return Value(name_);
  if (name == "catch_kwargs") return Value(node_->uses_kwargs);
  if (name == "catch_varargs") return Value(node_->uses_varargs);
  if (name == "caller") return Value(node_->uses_caller);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const Parameter& parameter : node_->parameters) names.emplace_back(parameter.name);
  return Value::tuple(std::move(names));
}

void Macro::bind(const Arguments& arguments, Scope& inner, std::vector<bool>& is_given) const {
  const auto& parameters = node_->parameters;
  const size_t count = std::min(arguments.positional.size(), parameters.size());
  for (size_t i = 0; i < count; ++i) {
    inner.set(parameters[i].name, arguments.positional[i]);
    is_given[i] = true;
  }
  if (arguments.positional.size() > parameters.size() && !node_->uses_varargs) {
    throw JinjaError(fmt::format("macro '{}': expected at most {} arguments, got {}", name_,
                                 parameters.size(), arguments.positional.size()));
  }
  std::vector<std::pair<Value, Value>> rest;
  bool has_caller = false;
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::ranges::find(parameters, name, &Parameter::name);
    if (at != parameters.end()) {
      const auto i = static_cast<size_t>(at - parameters.begin());
      if (is_given[i]) {
        throw JinjaError(
            fmt::format("macro '{}': expected the argument '{}' once, got two", name_, name));
      }
      inner.set(name, value);
      is_given[i] = true;
    } else if (name == "caller" && node_->uses_caller) {
      inner.set(name, value);
      has_caller = true;
    } else if (node_->uses_kwargs) {
      rest.emplace_back(Value(name), value);
    } else {
      throw JinjaError(fmt::format("macro '{}': expected no argument '{}', got one", name_, name));
    }
  }
  if (node_->uses_caller && !has_caller &&
      std::ranges::find(parameters, "caller", &Parameter::name) == parameters.end())
    inner.set("caller", Value::undefined("No caller defined"));
  if (node_->uses_kwargs) inner.set("kwargs", Value::dict(std::move(rest)));
  if (node_->uses_varargs) {
    const auto begin = arguments.positional.begin() + static_cast<std::ptrdiff_t>(count);
    inner.set("varargs", Value::tuple({begin, arguments.positional.end()}));
  }
}

Value Macro::call(Machine& machine, const Arguments& arguments) {
  const auto inner = std::make_shared<Scope>(scope_);
  std::vector<bool> is_given(node_->parameters.size());
  bind(arguments, *inner, is_given);
  for (size_t i = 0; i < is_given.size(); ++i) {
    if (is_given[i]) continue;
    const Parameter& parameter = node_->parameters[i];
    inner->set(parameter.name, parameter.fallback
                                   ? interpreter_->evaluate(*parameter.fallback, inner)
                                   : Value::undefined(fmt::format("parameter '{}' was not provided",
                                                                  parameter.name)));
  }
  return machine.text(interpreter_->capture(node_->body, inner));
}

}  // namespace axle::jinja
