#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "base/text/text.h"
#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

class Range final : public Object {
 public:
  Range(int64_t begin, int64_t step, int64_t count) : begin_(begin), step_(step), count_(count) {}
  std::string_view type_name() const override { return "range"; }
  std::string repr(Machine&) const override {
    const int64_t end = begin_ + step_ * count_;
    return step_ == 1 ? fmt::format("range({}, {})", begin_, end)
                      : fmt::format("range({}, {}, {})", begin_, end, step_);
  }
  bool is_true() const override { return count_ > 0; }
  bool is_iterable() const override { return true; }
  bool is_sequence() const override { return true; }
  std::optional<int64_t> length() const override { return count_; }
  std::vector<Value> take_elements(Machine& machine) override {
    machine.budget.bytes(static_cast<size_t>(count_) * sizeof(Value));
    std::vector<Value> out;
    for (int64_t i = 0; i < count_; ++i) out.emplace_back(begin_ + i * step_);
    return out;
  }

 private:
  int64_t begin_, step_, count_;
};

Value range(Machine&, const Arguments& arguments) {
  const Parameters parameters(arguments, "range", {"start", "stop", "step"});
  parameters.at("start");
  const bool has_stop = parameters.has("stop");
  const int64_t begin = has_stop ? parameters.integer_or("start", 0) : 0;
  const int64_t end = parameters.integer_or(has_stop ? "stop" : "start", 0);
  const int64_t step = parameters.integer_or("step", 1);
  if (step == 0) throw JinjaError("range: expected a step, got 0");
  const bool is_empty = step > 0 ? begin >= end : begin <= end;
  const auto distance =
      static_cast<unsigned __int128>(step > 0 ? __int128{end} - begin : __int128{begin} - end);
  const auto each = static_cast<unsigned __int128>(step > 0 ? __int128{step} : -__int128{step});
  const unsigned __int128 count = is_empty ? 0 : (distance + each - 1) / each;
  if (count > kMaxRange) {
    throw JinjaError(fmt::format("range: expected at most {} numbers, got more", kMaxRange));
  }
  return std::shared_ptr<Object>(std::make_shared<Range>(begin, step, static_cast<int64_t>(count)));
}

std::vector<std::pair<Value, Value>> items_of(Machine& machine, const Arguments& arguments,
                                              std::string_view function) {
  if (arguments.positional.size() > 1)
    throw JinjaError(fmt::format("{}: expected at most one argument without a name", function));
  std::vector<std::pair<Value, Value>> out;
  for (const Value& given : arguments.positional) {
    if (given.is_dict()) {
      machine.budget.step(given.dict().items.size());
      out = given.dict().items;
      continue;
    }
    for (const Value& pair : elements_of(machine, given)) {
      const std::vector<Value> both = elements_of(machine, pair);
      if (both.size() != 2) {
        throw JinjaError(fmt::format("{}: expected pairs of a key and a value, got {} values",
                                     function, both.size()));
      }
      put_item(out, both[0], both[1], machine.budget);
    }
  }
  for (const auto& [name, value] : arguments.named)
    put_item(out, Value(name), value, machine.budget);
  machine.budget.bytes(out.size() * 2 * sizeof(Value));
  return out;
}

Value dict(Machine& machine, const Arguments& arguments) {
  return Value::dict(items_of(machine, arguments, "dict"));
}

Value make_namespace(Machine& machine, const Arguments& arguments) {
  const auto out = std::make_shared<Namespace>();
  for (auto& [key, value] : items_of(machine, arguments, "namespace"))
    out->set(to_text(machine, key), std::move(value));
  return machine.keep(out);
}

class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> elements)
      : depth_(depth_around(elements)), elements_(std::move(elements)) {}
  std::string_view type_name() const override { return "Cycler"; }
  int depth() const override { return depth_; }
  std::optional<Value> attribute(std::string_view name) override {
    if (name == "current") return elements_[at_];
    if (name != "next" && name != "reset") return std::nullopt;
    // Jinja2 holds the cycler too; here the machine keeps it alive until the end.
    return Value(std::shared_ptr<Object>(std::make_shared<Function>(
        std::string(name), [this, is_next = name == "next"](Machine&, const Arguments& given) {
          Parameters(given, "a method of cycler", {});
          if (!is_next) return at_ = 0, Value();
          Value out = elements_[at_];
          at_ = (at_ + 1) % elements_.size();
          return out;
        })));
  }

 private:
  int depth_;
  std::vector<Value> elements_;
  size_t at_ = 0;
};

Value cycler(Machine& machine, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty())
    throw JinjaError("cycler: expected values without names, got none or others");
  return machine.keep(std::make_shared<Cycler>(arguments.positional));
}

class Joiner final : public Object {
 public:
  explicit Joiner(std::string separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Value call(Machine& machine, const Arguments& arguments) override {
    Parameters(arguments, "a joiner", {});
    return machine.text(std::exchange(is_used_, true) ? separator_ : "");
  }

 private:
  std::string separator_;
  bool is_used_ = false;
};

Value joiner(Machine&, const Arguments& arguments) {
  const Parameters parameters(arguments, "joiner", {"sep"});
  return std::shared_ptr<Object>(std::make_shared<Joiner>(parameters.text_or("sep", ", ")));
}

Value raise_exception(Machine& machine, const Arguments& arguments) {
  const Parameters parameters(arguments, "raise_exception", {"message"});
  throw Refusal(to_text(machine, parameters.at("message")));
}

Value strftime_now(Machine& machine, const Arguments& arguments, std::optional<int64_t> now_secs) {
  const Parameters parameters(arguments, "strftime_now", {"format"});
  const std::string& format = parameters.text("format");
  if (format.size() > 1000)
    throw JinjaError("strftime_now: expected a short format, got a long one");
  const std::time_t now = now_secs ? static_cast<std::time_t>(*now_secs) : std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  // An empty result and one that does not fit look the same without a character of one's own.
  std::string out(64 << 10, '\0');
  out.resize(std::strftime(out.data(), out.size(), (format + "|").c_str(), &local));
  if (out.empty()) throw JinjaError("strftime_now: expected a format of a date, got another one");
  out.pop_back();
  return machine.text(std::move(out));
}

Value function(const char* name, Function::Body body) {
  return std::shared_ptr<Object>(std::make_shared<Function>(name, std::move(body)));
}

}  // namespace

std::string Namespace::repr(Machine& machine) const {
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [name, value] : fields_) items.emplace_back(Value(name), value);
  return "<Namespace " + jinja::repr(machine, Value::dict(std::move(items))) + ">";
}

std::optional<Value> Namespace::attribute(std::string_view name) {
  const auto at = std::ranges::find(fields_, name, [](const auto& field) { return field.first; });
  return at == fields_.end() ? std::nullopt : std::optional(at->second);
}

void Namespace::set(std::string_view name, Value value) {
  if (name.starts_with('_')) {
    throw JinjaError(
        fmt::format("namespace: expected a field without an underscore before it, got '{}'", name));
  }
  const auto at = std::ranges::find(fields_, name, [](const auto& field) { return field.first; });
  if (at == fields_.end())
    fields_.emplace_back(name, std::move(value));
  else
    at->second = std::move(value);
}

std::vector<std::pair<std::string, Value>> global_functions(std::optional<int64_t> now_secs) {
  return {{"cycler", function("cycler", cycler)},
          {"dict", function("dict", dict)},
          {"joiner", function("joiner", joiner)},
          {"namespace", function("namespace", make_namespace)},
          {"raise_exception", function("raise_exception", raise_exception)},
          {"range", function("range", range)},
          {"strftime_now",
           function("strftime_now", [now_secs](Machine& machine, const Arguments& arguments) {
             return strftime_now(machine, arguments, now_secs);
           })}};
}

namespace {

void expect_none(const Arguments& arguments) { Parameters(arguments, "a test", {}); }

// A test that looks at the value alone.
template <bool (*kTest)(const Value&)>
bool plain(Machine&, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return kTest(value);
}

const Value& other_of(const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    throw JinjaError("a test: expected one argument, got another number");
  return arguments.positional[0];
}

struct Symbol {
  char text[7];
};
template <Symbol kSymbol>
bool compared(Machine& machine, const Value& value, const Arguments& arguments) {
  return compare(machine, kSymbol.text, value, other_of(arguments));
}

int64_t whole_modulo(Machine& machine, const Value& value, int64_t divisor) {
  const Value rest = arithmetic(machine, "%", value, Value(divisor));
  return rest.is_float() ? (rest.number() == 0 ? 0 : rest.number() == 1 ? 1 : 2) : rest.integer();
}
bool is_even(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return whole_modulo(machine, value, 2) == 0;
}
bool is_odd(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return whole_modulo(machine, value, 2) == 1;
}
bool is_divisible(Machine& machine, const Value& value, const Arguments& arguments) {
  const Value rest = arithmetic(machine, "%", value, other_of(arguments));
  return rest.number() == 0;
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is_bool(); }
bool is_true(const Value& value) { return value.is_bool() && value.boolean(); }
bool is_false(const Value& value) { return value.is_bool() && !value.boolean(); }
bool is_integer(const Value& value) { return value.is_integer() && !value.is_bool(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_text(); }
bool is_mapping(const Value& value) { return value.is_dict(); }
bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is_text() || value.is_list() || value.is_dict() ||
         (value.is_object() && value.object()->is_sequence());
}
bool is_callable(const Value& value) {
  return value.is_undefined() || (value.is_object() && value.object()->is_callable());
}

template <bool (*kIsOne)(char32_t), bool (*kIsOther)(char32_t)>
bool is_text_of_case(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  const std::string text = to_text(machine, value);
  machine.budget.step(text.size() / 8);
  return is_of_case<kIsOne, kIsOther>(text);
}

bool is_same(Machine&, const Value& value, const Arguments& arguments) {
  return value.is_same(other_of(arguments));
}
bool is_in(Machine& machine, const Value& value, const Arguments& arguments) {
  return contains(machine, other_of(arguments), value);
}
bool is_filter(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return find_filter(to_text(machine, value)) != nullptr;
}
bool is_test(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return find_test(to_text(machine, value)) != nullptr;
}

const std::map<std::string_view, TestFunction>& all_tests() {
  static const std::map<std::string_view, TestFunction> kTests = {
      {"!=", compared<Symbol{"!="}>},
      {"<", compared<Symbol{"<"}>},
      {"<=", compared<Symbol{"<="}>},
      {"==", compared<Symbol{"=="}>},
      {">", compared<Symbol{">"}>},
      {">=", compared<Symbol{">="}>},
      {"boolean", plain<is_boolean>},
      {"callable", plain<is_callable>},
      {"defined", plain<is_defined>},
      {"divisibleby", is_divisible},
      {"eq", compared<Symbol{"=="}>},
      {"equalto", compared<Symbol{"=="}>},
      {"even", is_even},
      {"false", plain<is_false>},
      {"filter", is_filter},
      {"float", plain<is_float>},
      {"ge", compared<Symbol{">="}>},
      {"greaterthan", compared<Symbol{">"}>},
      {"gt", compared<Symbol{">"}>},
      {"in", is_in},
      {"integer", plain<is_integer>},
      {"iterable", plain<is_iterable>},
      {"le", compared<Symbol{"<="}>},
      {"lessthan", compared<Symbol{"<"}>},
      {"lower", is_text_of_case<is_lower, is_upper>},
      {"lt", compared<Symbol{"<"}>},
      {"mapping", plain<is_mapping>},
      {"ne", compared<Symbol{"!="}>},
      {"none", plain<is_none>},
      {"number", plain<is_number>},
      {"odd", is_odd},
      {"sameas", is_same},
      {"sequence", plain<is_sequence>},
      {"string", plain<is_string>},
      {"test", is_test},
      {"true", plain<is_true>},
      {"undefined", plain<is_undefined>},
      {"upper", is_text_of_case<is_upper, is_lower>},
  };
  return kTests;
}

}  // namespace

TestFunction find_test(std::string_view name) {
  const auto at = all_tests().find(name);
  return at == all_tests().end() ? nullptr : at->second;
}

std::string unknown_test(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [one, function] : all_tests()) names.emplace_back(one);
  return fmt::format("expected a test of chat templates, got '{}'{}", name, suggest(name, names));
}

}  // namespace axle::jinja
