// What filters, tests and methods may ask of the interpreter that calls them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "data/chat/jinja/value.h"

namespace axle::jinja {

class Machine {
 public:
  /// `is_strict`: see Dialect.
  explicit Machine(const Limits& limits, bool is_strict = false)
      : budget(limits), is_strict_(is_strict) {}
  virtual ~Machine() = default;

  /// Calls a macro, a function or a method.
  Value call(const Value& callable, const Arguments& arguments);
  /// Throw JinjaError if there is no filter or test of this name.
  Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
  bool apply_test(std::string_view name, const Value& input, const Arguments& arguments);
  /// Throws JinjaError for an undefined value that is read, if that is an error.
  void check_read(const Value& value) const {
    if (is_strict_) require_defined(value);
  }
  /// The value as a condition.
  bool is_true(const Value& value) const {
    check_read(value);
    return value.is_true();
  }
  /// Makes a text of `size` bytes or fails; `size` is what will be needed.
  Value text(std::string out) {
    budget.bytes(out.size());
    return Value(std::move(out));
  }
  /// Keeps an object until the end of the rendering, and then clears it.
  std::shared_ptr<Object> keep(std::shared_ptr<Object> object);

  Budget budget;

 protected:
  void clear_kept();

 private:
  std::vector<std::shared_ptr<Object>> kept_;
  bool is_strict_;
};

/// Binds arguments to named parameters: `Parameters p(arguments, "indent", {"width", "first"})`.
class Parameters {
 public:
  /// Throws JinjaError "<function>: expected at most ..., got ..." for too many arguments or names
  /// that are none of `names`.
  Parameters(const Arguments& arguments, std::string_view function,
             std::initializer_list<std::string_view> names);
  /// Returns the argument; nullptr if it was not given.
  const Value* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Returns the argument. Throws JinjaError if it was not given.
  const Value& at(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  std::string text_or(std::string_view name, std::string_view fallback) const;
  int64_t integer_or(std::string_view name, int64_t fallback) const;
  bool flag_or(std::string_view name, bool fallback) const;

 private:
  std::string function_;
  std::vector<std::pair<std::string_view, const Value*>> given_;
};

/// A function of the program, as a value: "range", or a method with its object.
class Function final : public Object {
 public:
  using Body = std::function<Value(Machine&, const Arguments&)>;
  /// `depth` is that of the value that the body holds.
  Function(std::string name, Body body, int depth = 0)
      : name_(std::move(name)), body_(std::move(body)), depth_(depth) {}
  std::string_view type_name() const override { return "function"; }
  std::string repr(Machine&) const override { return "<function " + name_ + ">"; }
  bool is_callable() const override { return true; }
  Value call(Machine& machine, const Arguments& arguments) override {
    return body_(machine, arguments);
  }
  int depth() const override { return depth_; }

 private:
  std::string name_;
  Body body_;
  int depth_;
};

/// Values that can be visited once: what map() and select() return.
class Iterator final : public Object {
 public:
  explicit Iterator(std::vector<Value> elements)
      : depth_(depth_around(elements)), elements_(std::move(elements)) {}
  std::string_view type_name() const override { return "generator"; }
  bool is_iterable() const override { return true; }
  std::vector<Value> take_elements(Machine&) override;
  /// Takes the next element alone; none at the end.
  std::optional<Value> take_one();
  int depth() const override { return depth_; }

 private:
  int depth_;
  std::vector<Value> elements_;
  size_t next_ = 0;
};

/// Returns the values of iterating over a list, a text (its characters), a mapping (its keys) or
/// another iterable. Throws JinjaError for what is none.
std::vector<Value> elements_of(Machine& machine, const Value& value);
bool is_iterable(const Value& value);
/// Python's len(). Throws JinjaError for what has no length.
int64_t length_of(Machine& machine, const Value& value);

/// Returns an iterator over the values.
Value iterator_of(Machine& machine, std::vector<Value> elements);

}  // namespace axle::jinja
