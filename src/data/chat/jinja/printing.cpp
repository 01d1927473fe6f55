#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

std::string in_quotes(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text, at);
    const auto number = static_cast<uint32_t>(c);
    if (c == static_cast<char32_t>(quote) || c == '\\')
      out += fmt::format("\\{}", static_cast<char>(c));
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (is_printable(c))
      out += text.substr(begin, at - begin);
    else
      out += c < 0x100     ? fmt::format("\\x{:02x}", number)
             : c < 0x10000 ? fmt::format("\\u{:04x}", number)
                           : fmt::format("\\U{:08x}", number);
  }
  return out + quote;
}

void append_repr(Machine& machine, const Value& value, std::string& out) {
  machine.budget.step();
  const Budget::Level level(machine.budget);
  const size_t before = out.size();
  if (value.is_text()) {
    out += value.is_markup() ? "Markup(" + in_quotes(value.text()) + ")" : in_quotes(value.text());
  } else if (value.is_list()) {
    const bool is_tuple = value.list().kind == ListKind::kTuple;
    out += is_tuple ? "(" : "[";
    bool is_first = true;
    for (const Value& one : value.list().elements) {
      if (!std::exchange(is_first, false)) out += ", ";
      append_repr(machine, one, out);
    }
    if (is_tuple && value.list().elements.size() == 1) out += ",";
    out += is_tuple ? ")" : "]";
  } else if (value.is_dict()) {
    out += "{";
    bool is_first = true;
    for (const auto& [key, one] : value.dict().items) {
      if (!std::exchange(is_first, false)) out += ", ";
      append_repr(machine, key, out);
      out += ": ";
      append_repr(machine, one, out);
    }
    out += "}";
  } else if (value.is_undefined()) {
    out += "Undefined";
  } else if (value.is_object()) {
    out += value.object()->repr(machine);
  } else {
    out += to_text(machine, value);
  }
  if (!value.is_list() && !value.is_dict()) machine.budget.bytes(out.size() - before);
}

void append_json_text(std::string& out, std::string_view text, bool is_ascii) {
  constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b", kLetters = "\"\\nrtfb";
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text, at);
    const auto number = static_cast<uint32_t>(c);
    const size_t escape = c < 0x80 ? kEscaped.find(static_cast<char>(c)) : kEscaped.npos;
    if (escape != kEscaped.npos) {
      out += '\\';
      out += kLetters[escape];
    } else if (c < 0x20 || (is_ascii && c >= 0x7f && c < 0x10000)) {
      out += fmt::format("\\u{:04x}", number);
    } else if (is_ascii && c >= 0x10000) {
      const uint32_t rest = number - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    } else {
      out += text.substr(begin, at - begin);
    }
  }
  out += '"';
}

std::string json_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return float_text(number);
}

class JsonWriter {
 public:
  JsonWriter(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

  std::string write(const Value& value) {
    append(value, 1);
    return std::move(out_);
  }

 private:
  void line(size_t level) {
    if (!style_.indent) return;
    machine_.budget.bytes(level * style_.indent->size());
    out_ += '\n';
    for (size_t i = 0; i < level; ++i) out_ += *style_.indent;
  }

  void append(const Value& value, size_t level) {
    machine_.budget.step();
    const Budget::Level depth(machine_.budget);
    const size_t before = out_.size();
    if (value.is_text())
      append_json_text(out_, value.text(), style_.is_ascii);
    else if (value.is_none())
      out_ += "null";
    else if (value.is_bool())
      out_ += value.boolean() ? "true" : "false";
    else if (value.is_integer())
      out_ += std::to_string(value.integer());
    else if (value.is_float())
      out_ += json_number(value.number());
    else if (value.is_list())
      return append_list(value.list(), level);
    else if (value.is_dict())
      return append_dict(value.dict(), level);
    else
      fail(value);
    machine_.budget.bytes(out_.size() - before);
  }

  [[noreturn]] static void fail(const Value& value) {
    require_defined(value);
    throw JinjaError(fmt::format("tojson: expected a value that JSON has, got one of type {}",
                                 value.type_name()));
  }

  void append_list(const List& list, size_t level) {
    out_ += '[';
    for (size_t i = 0; i < list.elements.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      line(level);
      append(list.elements[i], level + 1);
    }
    if (!list.elements.empty()) line(level - 1);
    out_ += ']';
  }

  std::string key_text(const Value& key) {
    if (key.is_text()) return key.text();
    if (key.is_none()) return "null";
    if (key.is_bool()) return key.boolean() ? "true" : "false";
    if (key.is_integer()) return std::to_string(key.integer());
    if (key.is_float()) return json_number(key.number());
    throw JinjaError(
        fmt::format("tojson: expected texts as keys, got one of type {}", key.type_name()));
  }

  void append_dict(const Dict& dict, size_t level) {
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : dict.items) items.push_back(&item);
    if (style_.sorts_keys) {
      std::ranges::stable_sort(items, [&](const auto* a, const auto* b) {
        machine_.budget.step();
        return key_text(a->first) < key_text(b->first);
      });
    }
    out_ += '{';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      line(level);
      append_json_text(out_, key_text(items[i]->first), style_.is_ascii);
      out_ += style_.key_separator;
      append(items[i]->second, level + 1);
    }
    if (!items.empty()) line(level - 1);
    out_ += '}';
  }

  Machine& machine_;
  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string out = fmt::format("{}", number);
  if (out.find_first_of(".e") == out.npos) out += ".0";
  return out;
}

std::string to_text(Machine& machine, const Value& value) {
  if (value.is_text()) return value.text();
  machine.check_read(value);
  if (value.is_undefined()) return {};
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.boolean() ? "True" : "False";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_float()) return float_text(value.number());
  return repr(machine, value);
}

std::string escaped_text(Machine& machine, const Value& value) {
  std::string text = to_text(machine, value);
  if (value.is_markup()) return text;
  std::string out;
  for (const char c : text) {
    const std::string_view escaped = c == '&'    ? "&amp;"
                                     : c == '<'  ? "&lt;"
                                     : c == '>'  ? "&gt;"
                                     : c == '"'  ? "&#34;"
                                     : c == '\'' ? "&#39;"
                                                 : "";
    escaped.empty() ? out += c : out += escaped;
  }
  machine.budget.bytes(out.size());
  machine.budget.step(out.size() / 16);
  return out;
}

std::string repr(Machine& machine, const Value& value) {
  std::string out;
  append_repr(machine, value, out);
  return out;
}

std::string json_text(Machine& machine, const Value& value, const JsonStyle& style) {
  return JsonWriter(machine, style).write(value);
}

}  // namespace axle::jinja
