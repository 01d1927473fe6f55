// Runs the statements of a template: scopes, loops and macros.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/jinja/machine.h"
#include "data/chat/jinja/syntax.h"
#include "data/chat/jinja/value.h"

namespace axle::jinja {

/// Names that were set in a block, and in the blocks around it. Macros keep the scope that
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

/// Bytes of the rendered text.
struct Span {
  size_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

/// What one round of a loop wrote.
struct Round {
  Value element;  // of the loop: a mapping
  Span span;
};

class Interpreter final : public Machine {
 public:
  explicit Interpreter(const Limits& limits, bool is_strict = false) : Machine(limits, is_strict) {}
  ~Interpreter() override { clear_kept(); }

  /// Runs a template whose names are in `scope`, and returns its text.
  std::string run(const Body& body, const Scope::Ptr& scope);
  /// The texts of generation blocks, in their order.
  const std::vector<Span>& generations() const { return generations_; }
  /// True if such a block was in a macro or another body whose text is a value first: nobody knows
  /// where it went.
  bool has_lost_generation() const { return has_lost_generation_; }
  /// The rounds of loops over mappings that wrote text, in the order in which they end. Those in
  /// macros and in other bodies whose text is a value first are not there.
  const std::vector<Round>& rounds() const { return rounds_; }
  /// The line of what was run last, for messages.
  int line() const { return line_; }

  // What macros and loops call.
  Value evaluate(const Expression& node, const Scope::Ptr& scope);
  /// Runs a body and returns its text instead of putting it out.
  std::string capture(const Body& body, const Scope::Ptr& scope);
  /// Runs a loop over the elements and returns its text: a recursive loop calls itself.
  std::string capture_loop(const Statement& node, const Scope::Ptr& scope,
                           std::vector<Value> elements, int depth);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  Flow run_body(const Body& body, const Scope::Ptr& scope);
  Flow run_statement(const Statement& node, const Scope::Ptr& scope);
  Flow run_if(const Statement& node, const Scope::Ptr& scope);
  void run_for(const Statement& node, const Scope::Ptr& scope);
  void run_loop(const Statement& node, const Scope::Ptr& scope, std::vector<Value> elements,
                int depth);
  Flow run_round(const Statement& node, const Scope::Ptr& scope, const Value& element);
  void run_set(const Statement& node, const Scope::Ptr& scope);
  void run_call_block(const Statement& node, const Scope::Ptr& scope);
  void run_with(const Statement& node, const Scope::Ptr& scope);
  void run_generation(const Statement& node, const Scope::Ptr& scope);
  void assign(const Target& target, const Value& value, const Scope::Ptr& scope);
  void put_out(std::string_view text);
  Value filtered(const Expression& node, const Value& body, const Scope::Ptr& scope);

  Value evaluate_kind(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_name(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_list(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_dict(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_item(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_call(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_filter(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_test(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_conditional(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_binary(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_concatenation(const Expression& node, const Scope::Ptr& scope);
  Value evaluate_comparison(const Expression& node, const Scope::Ptr& scope);
  Arguments evaluate_arguments(const CallArguments& given, const Scope::Ptr& scope);

  std::string* out_ = nullptr;  // where text goes
  bool is_captured_ = false;    // out_ is not the text of the template
  std::vector<Span> generations_;
  bool has_lost_generation_ = false;
  std::vector<Round> rounds_;
  int line_ = 1;
};

class Loop final : public Object, public std::enable_shared_from_this<Loop> {
 public:
  /// `depth` counts the recursive loops around it.
  Loop(Interpreter& interpreter, const Statement& node, Scope::Ptr scope,
       std::vector<Value> elements, int depth);
  /// Moves to the next element, at first to the first one. Returns false behind the last.
  bool advance() { return ++index_ < std::ssize(elements_); }
  const Value& current() const { return elements_[index_]; }

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
