// Python's two ways to format: "%s" % values and "{}".format(values).

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

constexpr int64_t kMaxWidth = 10'000;

// [[fill]align][sign][#][0][width][,][.precision][type]
struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  bool is_alternate = false;
  char group = 0;  // , or _
  int64_t width = 0, precision = -1;
  char type = 0;
};

[[noreturn]] void fail_format(std::string_view expected, std::string_view got) {
  throw JinjaError(fmt::format("format: expected {}, got '{}'", expected, got));
}

int64_t take_digits(std::string_view& text) {
  int64_t number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + (text[0] - '0');
    if (number > kMaxWidth) fail_format(fmt::format("widths up to {}", kMaxWidth), "a larger one");
    text.remove_prefix(1);
  }
  return number;
}

bool is_align(std::string_view text, size_t at) {
  return at < text.size() && std::string_view("<>^=").find(text[at]) != std::string_view::npos;
}

Spec spec_of(const std::string_view whole) {
  Spec out;
  std::string_view text = whole;
  const size_t first = text.empty() ? 0 : character_bytes(text);
  if (first > 0 && is_align(text, first)) {
    out.fill = text.substr(0, first);
    out.align = text[first];
    text.remove_prefix(first + 1);
  } else if (is_align(text, 0)) {
    out.align = text[0];
    text.remove_prefix(1);
  }
  const auto take = [&](std::string_view set) {
    if (text.empty() || set.find(text[0]) == set.npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  if (const char sign = take("+- ")) out.sign = sign;
  out.is_alternate = take("#") != 0;
  if (take("0") && !out.align) {
    out.fill = "0";
    out.align = '=';
  }
  out.width = take_digits(text);
  out.group = take(",_");
  if (take(".")) out.precision = take_digits(text);
  out.type = take("sdfFeEgGxXobc%");
  if (!text.empty()) fail_format("a format such as '>8.2f'", whole);
  return out;
}

std::string grouped(const std::string& digits, char separator) {
  if (!separator) return digits;
  std::string out;
  const size_t whole = std::min(digits.find('.'), digits.size());
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string integer_digits(uint64_t number, const Spec& spec) {
  switch (spec.type) {
    case 'x':
      return (spec.is_alternate ? "0x" : "") + fmt::format("{:x}", number);
    case 'X':
      return (spec.is_alternate ? "0X" : "") + fmt::format("{:X}", number);
    case 'o':
      return (spec.is_alternate ? "0o" : "") + fmt::format("{:o}", number);
    case 'b':
      return (spec.is_alternate ? "0b" : "") + fmt::format("{:b}", number);
    default:
      return std::to_string(number);
  }
}

std::string float_digits(double number, const Spec& spec) {
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  switch (spec.type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", number, precision);
    case '%':
      return fmt::format("{:.{}f}%", number * 100, precision);
    case 'e':
      return fmt::format("{:.{}e}", number, precision);
    case 'E':
      return fmt::format("{:.{}E}", number, precision);
    case 'G':
      return fmt::format("{:.{}G}", number, std::max(precision, 1));
    case 'g':
      return fmt::format("{:.{}g}", number, std::max(precision, 1));
    default:
      return spec.precision < 0 ? float_text(number)
                                : fmt::format("{:.{}g}", number, std::max(precision, 1));
  }
}

std::string padded(const Spec& spec, const std::string& sign, const std::string& body,
                   char default_align) {
  const auto size = static_cast<int64_t>(count_characters(body) + sign.size());
  const auto missing = static_cast<size_t>(std::max<int64_t>(spec.width - size, 0));
  const char align = spec.align ? spec.align : default_align;
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string before, after;
  for (size_t i = 0; i < left; ++i) before += spec.fill;
  for (size_t i = left; i < missing; ++i) after += spec.fill;
  return align == '=' ? sign + before + body : before + sign + body + after;
}

std::string formatted_number(const Value& value, const Spec& spec) {
  const bool is_float_type = std::string_view("fFeEgG%").find(spec.type) != std::string_view::npos;
  const bool is_float = value.is_float() || (spec.type && is_float_type);
  const bool is_negative = value.is_float() ? std::signbit(value.number()) : value.number() < 0;
  const std::string sign = is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  std::string digits;
  if (is_float) {
    digits = float_digits(std::fabs(value.number()), spec);
  } else {
    const auto number = static_cast<uint64_t>(value.integer());
    digits = integer_digits(is_negative ? 0 - number : number, spec);
  }
  return padded(spec, sign, grouped(digits, spec.group), '>');
}

std::string formatted(Machine& machine, const Value& value, std::string_view text) {
  require_defined(value);
  if (text.empty()) return to_text(machine, value);
  const Spec spec = spec_of(text);
  const bool is_plain_bool = value.is_bool() && spec.type == 0;
  if (value.is_number() && !is_plain_bool) {
    if (spec.type == 's' || spec.type == 'c')
      fail_format("a number's format", std::string(1, spec.type));
    return formatted_number(value, spec);
  }
  if (!value.is_text() && !is_plain_bool)
    fail_format("no format behind ':' for this type", value.type_name());
  if (spec.type && spec.type != 's') fail_format("a text's format", std::string(1, spec.type));
  std::string body = to_text(machine, value);
  if (spec.precision >= 0)
    body.resize(byte_of_character(body, static_cast<size_t>(spec.precision)));
  return padded(spec, "", body, '<');
}

}  // namespace

std::string percent_format(Machine& machine, const std::string& format, const Value& values) {
  const bool is_tuple = values.is_list() && values.list().kind == ListKind::kTuple;
  std::string out;
  size_t next = 0;
  const auto take = [&]() -> Value {
    if (!is_tuple) {
      if (next++ > 0) throw JinjaError("%: expected as many values as the format has, got one");
      return values;
    }
    if (next >= values.list().elements.size()) {
      throw JinjaError(fmt::format("%: expected as many values as the format has, got {}",
                                   values.list().elements.size()));
    }
    return values.list().elements[next++];
  };
  bool uses_names = false;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      out += format[at];
      continue;
    }
    std::optional<Value> value;
    if (++at < format.size() && format[at] == '(') {
      const size_t end = format.find(')', at);
      if (end == format.npos || !values.is_dict())
        throw JinjaError("%: expected a mapping for '%(name)', got no such value");
      value = item_of(machine, values, Value(format.substr(at + 1, end - at - 1)));
      require_defined(*value);
      uses_names = true;
      at = end + 1;
    }
    Spec spec;
    bool is_left = false, has_zero = false;
    for (; at < format.size() && std::string_view("-+ #0").find(format[at]) != std::string::npos;
         ++at) {
      if (format[at] == '-') is_left = true;
      if (format[at] == '0') has_zero = true;
      if (format[at] == '+' || format[at] == ' ') spec.sign = format[at];
      if (format[at] == '#') spec.is_alternate = true;
    }
    std::string_view rest = std::string_view(format).substr(std::min(at, format.size()));
    spec.width = take_digits(rest);
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      spec.precision = take_digits(rest);
    }
    if (rest.empty()) throw JinjaError("%: expected a letter of a format, got the end of the text");
    at = format.size() - rest.size();
    const char type = rest[0];
    if (type == '%') {
      out += '%';
      continue;
    }
    if (!value) value = take();
    spec.align = is_left ? '<' : '>';
    if (type == 's' || type == 'r') {
      std::string body = type == 's' ? to_text(machine, *value) : repr(machine, *value);
      if (spec.precision >= 0)
        body.resize(byte_of_character(body, static_cast<size_t>(spec.precision)));
      out += padded(spec, "", body, '>');
    } else if (std::string_view("diufFeEgGxXo").find(type) != std::string_view::npos) {
      if (!value->is_number()) {
        throw JinjaError(fmt::format("%{}: expected a number, got a value of type {}", type,
                                     value->type_name()));
      }
      const bool is_integer = std::string_view("diu").find(type) != std::string_view::npos;
      spec.type = is_integer ? 'd' : type;
      if (has_zero && !is_left) {
        spec.fill = "0";
        spec.align = '=';
      }
      if (is_integer && value->is_float()) {
        if (!(std::fabs(value->number()) < 9e18))
          throw JinjaError("%d: expected a number of 64 bits, got a larger one");
        value = Value(static_cast<int64_t>(value->number()));
      }
      if ((type == 'x' || type == 'X' || type == 'o') && value->is_float())
        throw JinjaError(fmt::format("%{}: expected an integer, got a float", type));
      out += formatted_number(*value, spec);
    } else {
      throw JinjaError(fmt::format("%: expected a letter such as s, d or f, got '{}'", type));
    }
    machine.budget.check_output(out.size());
  }
  // Python lets all that has elements by key stand behind a format that takes no value.
  const bool has_elements = values.is_dict() || values.is_list() || values.is_undefined() ||
                            (values.is_object() && values.object()->is_sequence());
  const bool has_rest =
      is_tuple ? next < values.list().elements.size() : next == 0 && !has_elements && !uses_names;
  if (has_rest) throw JinjaError("%: expected as many values as the format has, got more");
  machine.budget.bytes(out.size());
  return out;
}

namespace {

// The value that "name.field[0]" names.
Value field_of(Machine& machine, std::string_view name, const Arguments& arguments,
               size_t& next_number) {
  const size_t end = std::min(name.find_first_of(".["), name.size());
  const std::string_view first = name.substr(0, end);
  Value out;
  const bool is_number = first.find_first_not_of("0123456789") == first.npos && first.size() < 6;
  if (is_number) {
    const size_t number = first.empty() ? next_number++ : std::stoul(std::string(first));
    if (number >= arguments.positional.size())
      throw JinjaError(fmt::format("format: expected an argument {}, got none", number));
    out = arguments.positional[number];
  } else {
    const auto at =
        std::ranges::find(arguments.named, first, [](const auto& n) { return n.first; });
    if (at == arguments.named.end())
      throw JinjaError(fmt::format("format: expected an argument '{}', got none", first));
    out = at->second;
  }
  for (name.remove_prefix(end); !name.empty();) {
    const bool is_attribute = name[0] == '.';
    const size_t stop =
        is_attribute ? std::min(name.find_first_of(".[", 1), name.size()) : name.find(']');
    if (stop == name.npos) fail_format("']' behind an index", name);
    const std::string key(name.substr(1, stop - 1));
    const bool is_index =
        !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == key.npos;
    out = is_attribute
              ? attribute_of(machine, out, key)
              : item_of(machine, out,
                        is_index ? Value(static_cast<int64_t>(std::stoll(key))) : Value(key));
    name.remove_prefix(is_attribute ? stop : stop + 1);
  }
  return out;
}

}  // namespace

std::string brace_format(Machine& machine, const std::string& format, const Arguments& arguments) {
  std::string out;
  size_t next_number = 0;
  for (size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == c) {
      out += c;
      ++at;
      continue;
    }
    const size_t end = c == '{' ? format.find('}', at) : format.npos;
    if (end == format.npos) fail_format("'{' and '}' in pairs", std::string(1, c));
    const std::string field = format.substr(at + 1, end - at - 1);
    if (field.find('{') != field.npos) fail_format("a field without fields in it", field);
    const size_t colon = std::min(field.find(':'), field.size());
    const std::string spec = field.substr(std::min(colon + 1, field.size()));
    const std::string name = field.substr(0, colon);
    const size_t bang = std::min(name.find('!'), name.size());
    const std::string conversion = name.substr(bang);
    Value value = field_of(machine, name.substr(0, bang), arguments, next_number);
    if (conversion == "!r")
      value = machine.text(repr(machine, value));
    else if (conversion == "!s")
      value = machine.text(to_text(machine, value));
    else if (!conversion.empty())
      fail_format("!r or !s", conversion);
    out += formatted(machine, value, spec);
    machine.budget.check_output(out.size());
    at = end;
  }
  return out;
}

}  // namespace axle::jinja
