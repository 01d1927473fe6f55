// Runs the statements of a template.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/jinja/machine.h"
#include "data/chat/jinja/scope.h"
#include "data/chat/jinja/syntax.h"

namespace axle::jinja {

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

}  // namespace axle::jinja
