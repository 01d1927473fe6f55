#include "data/chat/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/text_table.h"
#include "base/text/unicode.h"

namespace axle::jinja {

void Budget::fail_steps() const {
  throw JinjaError(
      fmt::format("expected an end within {} steps, got none yet; is there a loop without end?",
                  limits_.max_steps));
}
void Budget::fail_bytes() const {
  throw JinjaError(fmt::format("expected to need at most {} for texts and lists, got more",
                               bytes_text(limits_.max_bytes)));
}
void Budget::fail_value_bytes() const {
  throw JinjaError(fmt::format("expected at most {} for a text or a list, got more",
                               bytes_text(limits_.max_value_bytes)));
}
void Budget::fail_output() const {
  throw JinjaError(
      fmt::format("expected at most {} of text, got more", bytes_text(limits_.max_output_bytes)));
}
void Budget::fail_depth() {
  throw JinjaError(fmt::format(
      "expected at most {} levels of calls and expressions, got more; is there a macro that calls "
      "itself without end?",
      kMaxDepth));
}

namespace {

void check_depth(int depth) {
  if (depth > kMaxValueDepth) {
    throw JinjaError(
        fmt::format("expected at most {} nested lists and mappings, got more", kMaxValueDepth));
  }
}

Value of_json_at(const nlohmann::ordered_json& json, int depth) {
  check_depth(depth);
  using Kind = nlohmann::detail::value_t;
  switch (json.type()) {
    case Kind::boolean:
      return json.get<bool>();
    case Kind::number_integer:
      return json.get<int64_t>();
    case Kind::number_unsigned:
      if (json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
        throw JinjaError(fmt::format("expected integers of 64 bits, got {}", json.dump()));
      return json.get<int64_t>();
    case Kind::number_float:
      return json.get<double>();
    case Kind::string:
      return json.get_ref<const std::string&>();
    case Kind::array: {
      std::vector<Value> elements;
      elements.reserve(json.size());
      for (const auto& element : json) elements.push_back(of_json_at(element, depth + 1));
      return Value::list(std::move(elements));
    }
    case Kind::object: {
      std::vector<std::pair<Value, Value>> items;
      items.reserve(json.size());
      for (const auto& [key, value] : json.items())
        items.emplace_back(Value(key), of_json_at(value, depth + 1));
      return Value::dict(std::move(items));
    }
    default:
      return {};
  }
}

}  // namespace

Value Value::undefined(std::string message) {
  return Undefined{std::make_shared<const std::string>(std::move(message))};
}

Value Value::markup(std::string text) {
  Value out(std::move(text));
  out.is_markup_ = true;
  return out;
}

Value Value::list(std::vector<Value> elements, ListKind kind) {
  auto out = std::make_shared<List>();
  out->depth = depth_around(elements);
  out->kind = kind;
  out->elements = std::move(elements);
  return std::shared_ptr<const List>(std::move(out));
}

Value Value::dict(std::vector<std::pair<Value, Value>> items) {
  auto out = std::make_shared<Dict>();
  for (const auto& [key, value] : items)
    out->depth = std::max({out->depth, key.depth() + 1, value.depth() + 1});
  check_depth(out->depth);
  out->items = std::move(items);
  return std::shared_ptr<const Dict>(std::move(out));
}

Value Value::of_json(const nlohmann::ordered_json& json) { return of_json_at(json, 1); }

const std::string& Value::undefined_message() const {
  static const std::string kDefault = "the value is undefined";
  const Undefined& undefined = std::get<Undefined>(data_);
  return undefined.message ? *undefined.message : kDefault;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is_bool()) return "bool";
  if (is_integer()) return "int";
  if (is_float()) return "float";
  if (is_text()) return "str";
  if (is_dict()) return "dict";
  if (is_list()) return list().kind == ListKind::kTuple ? "tuple" : "list";
  return object()->type_name();
}

bool Value::is_true() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return number() != 0;
  if (is_text()) return !text().empty();
  if (is_list()) return !list().elements.empty();
  if (is_dict()) return !dict().items.empty();
  return object()->is_true();
}

int Value::depth() const {
  if (is_list()) return list().depth;
  if (is_dict()) return dict().depth;
  return is_object() ? object()->depth() : 0;
}

bool Value::is_same(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  return std::visit(
      [&](const auto& mine) {
        using T = std::decay_t<decltype(mine)>;
        const T& its = std::get<T>(other.data_);
        if constexpr (std::is_same_v<T, None>)
          return true;
        else if constexpr (std::is_same_v<T, Undefined>)
          return mine.message == its.message;
        else if constexpr (std::is_same_v<T, std::shared_ptr<const std::string>>)
          return *mine == *its;  // Python shares equal texts of names
        else
          return mine == its;
      },
      data_);
}

std::string Object::repr(Machine&) const { return fmt::format("<{} object>", type_name()); }

Value Object::call(Machine&, const Arguments&) {
  throw JinjaError(fmt::format("expected a function, got a value of type {}", type_name()));
}

std::vector<Value> Object::take_elements(Machine&) {
  throw JinjaError(
      fmt::format("expected a value to iterate over, got one of type {}", type_name()));
}

bool equals(const Value& a, const Value& b, Budget& budget) {
  budget.step();
  if (a.is_number() && b.is_number()) {
    return a.is_integer() && b.is_integer() ? a.integer() == b.integer() : a.number() == b.number();
  }
  if (a.is_text() && b.is_text()) {
    if (a.text().size() != b.text().size()) return false;
    budget.step(a.text().size() / 64);
    return a.text() == b.text();
  }
  if (a.is_undefined() || a.is_none()) return a.type_name() == b.type_name();
  const Budget::Level level(budget);
  if (a.is_list() && b.is_list()) {
    if (a.list().kind != b.list().kind) return false;
    return std::ranges::equal(a.list().elements, b.list().elements,
                              [&](const Value& x, const Value& y) { return equals(x, y, budget); });
  }
  if (a.is_dict() && b.is_dict()) {
    if (a.dict().items.size() != b.dict().items.size()) return false;
    return std::ranges::all_of(a.dict().items, [&](const auto& item) {
      const auto at = find_key(b.dict(), item.first, budget);
      return at && equals(item.second, b.dict().items[*at].second, budget);
    });
  }
  return a.is_object() && b.is_object() && a.object() == b.object();
}

std::optional<size_t> find_key(const Dict& dict, const Value& key, Budget& budget) {
  budget.step(dict.items.size() / 8 + 1);
  for (size_t i = 0; i < dict.items.size(); ++i) {
    if (equals(dict.items[i].first, key, budget)) return i;
  }
  return std::nullopt;
}

const Value* find_text_key(const Dict& dict, std::string_view key) {
  for (const auto& [name, value] : dict.items) {
    if (name.is_text() && name.text() == key) return &value;
  }
  return nullptr;
}

void check_hashable(const Value& key) {
  if (key.is_dict() || (key.is_list() && key.list().kind == ListKind::kList))
    throw JinjaError(fmt::format("expected a key that can't change, got a {}", key.type_name()));
  if (!key.is_list()) return;
  for (const Value& element : key.list().elements) check_hashable(element);
}

void put_item(std::vector<std::pair<Value, Value>>& items, Value key, Value value, Budget& budget) {
  check_hashable(key);
  for (auto& [name, there] : items) {
    if (!equals(name, key, budget)) continue;
    there = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
}

int depth_around(const std::vector<Value>& elements) {
  int depth = 1;
  for (const Value& element : elements) depth = std::max(depth, element.depth() + 1);
  check_depth(depth);
  return depth;
}

void require_defined(const Value& value) {
  if (value.is_undefined()) throw JinjaError(value.undefined_message());
}

}  // namespace axle::jinja
