#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/lists.h"
#include "base/text/unicode.h"
#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

using Method = Value (*)(Machine&, const std::string&, const Arguments&);

// The parts as values.
Value list_of(Machine& machine, const std::vector<std::string_view>& parts, size_t size) {
  machine.budget.bytes(size + parts.size() * (sizeof(Value) + 64));
  machine.budget.step(parts.size());
  std::vector<Value> out;
  for (const std::string_view part : parts) out.emplace_back(part);
  return Value::list(std::move(out));
}

// Finds the last offset; takes time in proportion to the product of both sizes.
size_t find_last(Machine& machine, std::string_view text, std::string_view part) {
  machine.budget.step(text.size() / 16 * (1 + part.size() / 64));
  return text.rfind(part);
}

// The separator; none: runs of white space.
std::optional<std::string> separator_of(const Parameters& parameters) {
  if (!parameters.has("sep") || parameters.at("sep").is_none()) return std::nullopt;
  if (parameters.text("sep").empty()) throw JinjaError("split: expected a separator, got ''");
  return parameters.text("sep");
}

std::vector<std::string_view> split_at_spaces(std::string_view text, size_t most) {
  std::vector<std::string_view> out;
  text = stripped(text, Sides::kLeft);
  while (!text.empty()) {
    if (out.size() == most) {
      out.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      size_t next = end;
      if (is_space(next_character(text, next))) break;
      end = next;
    }
    out.push_back(text.substr(0, end));
    text = stripped(text.substr(end), Sides::kLeft);
  }
  return out;
}

std::vector<std::string_view> split_back_at_spaces(std::string_view text, size_t most) {
  std::vector<std::string_view> out;
  text = stripped(text, Sides::kRight);
  while (!text.empty()) {
    if (out.size() == most) {
      out.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      size_t last = begin - 1;
      while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
      size_t at = last;
      if (is_space(next_character(text, at))) break;
      begin = last;
    }
    out.push_back(text.substr(begin));
    text = stripped(text.substr(0, begin), Sides::kRight);
  }
  std::ranges::reverse(out);
  return out;
}

size_t most_of(const Parameters& parameters) {
  const int64_t most = parameters.integer_or("maxsplit", -1);
  return most < 0 ? std::string::npos : static_cast<size_t>(most);
}

Value split(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "split", {"sep", "maxsplit"});
  const auto separator = separator_of(parameters);
  const size_t most = most_of(parameters);
  machine.budget.step(text.size() / 64);
  if (!separator) return list_of(machine, split_at_spaces(text, most), text.size());
  std::vector<std::string_view> out;
  std::string_view rest = text;
  for (size_t at; out.size() < most && (at = find_text(rest, *separator)) != rest.npos;) {
    out.push_back(rest.substr(0, at));
    rest.remove_prefix(at + separator->size());
  }
  out.push_back(rest);
  return list_of(machine, out, text.size());
}

Value rsplit(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "rsplit", {"sep", "maxsplit"});
  const auto separator = separator_of(parameters);
  const size_t most = most_of(parameters);
  machine.budget.step(text.size() / 16);
  if (!separator) return list_of(machine, split_back_at_spaces(text, most), text.size());
  std::vector<std::string_view> out;
  std::string_view rest = text;
  machine.budget.step(text.size() / 16 * (separator->size() / 64));
  for (size_t at; out.size() < most && (at = rest.rfind(*separator)) != rest.npos;) {
    out.push_back(rest.substr(at + separator->size()));
    rest = rest.substr(0, at);
  }
  out.push_back(rest);
  std::ranges::reverse(out);
  return list_of(machine, out, text.size());
}

Value splitlines(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "splitlines", {"keepends"});
  return list_of(machine, lines_of(text, parameters.flag_or("keepends", false)), text.size());
}

template <Sides kSides>
Value strip(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "strip", {"chars"});
  machine.budget.bytes(text.size());
  if (!parameters.has("chars") || parameters.at("chars").is_none())
    return Value(stripped(text, kSides));
  return Value(stripped_of(text, parameters.text("chars"), kSides));
}

// Any of a tuple, or the one text.
template <bool kIsEnd>
Value has_affix(Machine& machine, const std::string& text, const Arguments& arguments) {
  const std::string_view name = kIsEnd ? "endswith" : "startswith";
  const Parameters parameters(arguments, name, {"affix"});
  const Value& affix = parameters.at("affix");
  const auto has = [&](const Value& one) {
    if (!one.is_text())
      throw JinjaError(fmt::format("{}: expected a text, got a {}", name, one.type_name()));
    return kIsEnd ? text.ends_with(one.text()) : text.starts_with(one.text());
  };
  require_defined(affix);
  if (!affix.is_list() || affix.list().kind != ListKind::kTuple) return has(affix);
  machine.budget.step(affix.list().elements.size());
  return std::ranges::any_of(affix.list().elements, has);
}

template <bool kIsEnd>
Value without_affix(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, kIsEnd ? "removesuffix" : "removeprefix", {"affix"});
  const std::string& affix = parameters.text("affix");
  std::string_view out = text;
  if (kIsEnd && out.ends_with(affix)) out.remove_suffix(affix.size());
  if (!kIsEnd && out.starts_with(affix)) out.remove_prefix(affix.size());
  return machine.text(std::string(out));
}

Value replace(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "replace", {"old", "new", "count"});
  return replaced(machine, text, parameters.text("old"), parameters.text("new"),
                  parameters.integer_or("count", -1));
}

template <std::string (*kMap)(std::string_view)>
Value map_case(Machine& machine, const std::string& text, const Arguments& arguments) {
  Parameters(arguments, "a method of texts", {});
  machine.budget.step(text.size() / 8);
  return machine.text(kMap(text));
}

Value join(Machine& machine, const std::string& separator, const Arguments& arguments) {
  const Parameters parameters(arguments, "join", {"iterable"});
  const std::vector<Value> parts = elements_of(machine, parameters.at("iterable"));
  size_t size = 0;
  for (const Value& one : parts) {
    if (!one.is_text())
      throw JinjaError(fmt::format("join: expected texts, got a {}", one.type_name()));
    size += one.text().size() + separator.size();
  }
  machine.budget.bytes(size);
  std::string out;
  out.reserve(size);
  bool is_first = true;
  for (const Value& one : parts) {
    out += (std::exchange(is_first, false) ? "" : separator) + one.text();
  }
  return out;
}

// The part of the text between the characters `start` and `end`, and the byte where it begins.
std::pair<std::string_view, size_t> part_of(std::string_view text, const Parameters& parameters) {
  const auto size = static_cast<int64_t>(count_characters(text));
  const auto clamped = [&](std::string_view name, int64_t fallback) {
    const int64_t at = parameters.integer_or(name, fallback);
    return static_cast<size_t>(std::clamp<int64_t>(at < 0 ? at + size : at, 0, size));
  };
  const size_t begin = byte_of_character(text, clamped("start", 0));
  const size_t end = byte_of_character(text, clamped("end", size));
  return {text.substr(begin, begin < end ? end - begin : 0), begin};
}

template <bool kIsLast, bool kMustBe>
Value find(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "find", {"sub", "start", "end"});
  machine.budget.step(text.size() / 16);
  const auto [part, begin] = part_of(text, parameters);
  const std::string& wanted = parameters.text("sub");
  const size_t at = kIsLast ? find_last(machine, part, wanted) : find_text(part, wanted);
  if (at != part.npos)
    return static_cast<int64_t>(count_characters(std::string_view(text).substr(0, begin + at)));
  if (kMustBe) throw JinjaError("index: expected a part of the text, got a text that is not in it");
  return -1;
}

Value count(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "count", {"sub", "start", "end"});
  machine.budget.step(text.size() / 16);
  const auto [part, begin] = part_of(text, parameters);
  const std::string& wanted = parameters.text("sub");
  if (wanted.empty()) return static_cast<int64_t>(count_characters(part)) + 1;
  int64_t out = 0;
  for (size_t at = find_text(part, wanted); at != part.npos;
       at = find_text(part, wanted, at + wanted.size()))
    ++out;
  return out;
}

template <bool (*kIsOne)(char32_t)>
Value are_all(Machine& machine, const std::string& text, const Arguments& arguments) {
  Parameters(arguments, "a method of texts", {});
  machine.budget.step(text.size() / 8);
  for (size_t at = 0; at < text.size();) {
    if (!kIsOne(next_character(text, at))) return false;
  }
  return !text.empty();
}
bool is_alphanumeric(char32_t c) { return c != '_' && is_word_part(c); }

// At least one letter of this case and none of the other.
template <bool (*kIsOne)(char32_t), bool (*kIsOther)(char32_t)>
Value are_of_case(Machine& machine, const std::string& text, const Arguments& arguments) {
  Parameters(arguments, "a method of texts", {});
  machine.budget.step(text.size() / 8);
  return is_of_case<kIsOne, kIsOther>(text);
}

size_t missing_width(std::string_view text, int64_t width) {
  const int64_t missing = width - static_cast<int64_t>(count_characters(text));
  return static_cast<size_t>(std::max<int64_t>(missing, 0));
}

// At most INT64_MAX: no budget is that large.
size_t product_of_sizes(size_t a, size_t b) {
  return static_cast<size_t>(saturating_product(static_cast<int64_t>(a), static_cast<int64_t>(b)));
}

std::string fill_of(Machine& machine, std::string_view fill, size_t count) {
  const size_t size = product_of_sizes(count, fill.size());
  machine.budget.bytes(size);
  if (fill.size() == 1) return std::string(count, fill[0]);
  std::string out;
  out.reserve(size);
  for (size_t i = 0; i < (size ? count : 0); ++i) out += fill;
  return out;
}

template <bool kIsLeft>
Value justify(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "ljust", {"width", "fillchar"});
  parameters.at("width");
  const std::string fill = fill_of(machine, parameters.text_or("fillchar", " "),
                                   missing_width(text, parameters.integer_or("width", 0)));
  return machine.text(kIsLeft ? text + fill : fill + text);
}

Value center(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "center", {"width", "fillchar"});
  parameters.at("width");
  return centered(machine, text, parameters.integer_or("width", 0),
                  parameters.text_or("fillchar", " "));
}

Value zfill(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "zfill", {"width"});
  const std::string fill =
      fill_of(machine, "0", missing_width(text, parameters.integer_or("width", 0)));
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return machine.text(text.substr(0, sign) + fill + text.substr(sign));
}

template <bool kIsLast>
Value partition(Machine& machine, const std::string& text, const Arguments& arguments) {
  const Parameters parameters(arguments, "partition", {"sep"});
  const std::string& separator = parameters.text("sep");
  if (separator.empty()) throw JinjaError("partition: expected a separator, got ''");
  machine.budget.bytes(text.size());
  machine.budget.step(text.size() / 16);
  const size_t at = kIsLast ? find_last(machine, text, separator) : find_text(text, separator);
  if (at == text.npos) return kIsLast ? Value::tuple({"", "", text}) : Value::tuple({text, "", ""});
  return Value::tuple({text.substr(0, at), separator, text.substr(at + separator.size())});
}

Value format(Machine& machine, const std::string& text, const Arguments& arguments) {
  return machine.text(brace_format(machine, text, arguments));
}

const std::map<std::string_view, Method>& methods() {
  static const std::map<std::string_view, Method> kMethods = {
      {"capitalize", map_case<capitalized_text>},
      {"casefold", map_case<unicode_lower_case>},
      {"center", center},
      {"count", count},
      {"endswith", has_affix<true>},
      {"find", find<false, false>},
      {"format", format},
      {"index", find<false, true>},
      {"isalnum", are_all<is_alphanumeric>},
      {"isalpha", are_all<is_letter>},
      {"isdecimal", are_all<is_decimal_digit>},
      {"isdigit", are_all<is_decimal_digit>},
      {"islower", are_of_case<is_lower, is_upper>},
      {"isnumeric", are_all<is_decimal_digit>},
      {"isspace", are_all<is_space>},
      {"isupper", are_of_case<is_upper, is_lower>},
      {"join", join},
      {"ljust", justify<true>},
      {"lower", map_case<unicode_lower_case>},
      {"lstrip", strip<Sides::kLeft>},
      {"partition", partition<false>},
      {"removeprefix", without_affix<false>},
      {"removesuffix", without_affix<true>},
      {"replace", replace},
      {"rfind", find<true, false>},
      {"rindex", find<true, true>},
      {"rjust", justify<false>},
      {"rpartition", partition<true>},
      {"rsplit", rsplit},
      {"rstrip", strip<Sides::kRight>},
      {"split", split},
      {"splitlines", splitlines},
      {"startswith", has_affix<false>},
      {"strip", strip<Sides::kBoth>},
      {"swapcase", map_case<swapped_case>},
      {"title", map_case<title_text>},
      {"upper", map_case<upper_text>},
      {"zfill", zfill},
  };
  return kMethods;
}

}  // namespace

bool is_text_method(std::string_view name) { return methods().contains(name); }

bool is_unsupported_text_method(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>({"encode", "expandtabs", "format_map",
                                                           "isascii", "isidentifier", "isprintable",
                                                           "istitle", "maketrans", "translate"});
  return std::ranges::find(kNames, name) != kNames.end();
}

Value text_method(Machine& machine, const Value& value, std::string_view name,
                  const Arguments& arguments) {
  return methods().at(name)(machine, value.text(), arguments);
}

namespace {

// Calls f(byte) for each offset where `old` is found, at most `most` times; below 0: all.
template <class F>
void for_each_found(std::string_view text, std::string_view old, int64_t most, F&& f) {
  size_t from = 0;
  for (int64_t i = 0; most < 0 || i < most; ++i) {
    const size_t found = find_text(text, old, from);
    if (found == text.npos) return;
    f(found);
    from = found + old.size();
    if (!old.empty()) continue;
    // An empty text is found before each character and at the end.
    if (from == text.size()) return;
    from += character_bytes(text.substr(from));
  }
}

}  // namespace

Value replaced(Machine& machine, std::string_view text, std::string_view old, std::string_view by,
               int64_t most) {
  machine.budget.step(text.size() / 64);
  size_t count = 0;
  for_each_found(text, old, most, [&](size_t) { ++count; });
  machine.budget.step(count / 4);
  const size_t size = text.size() - count * old.size() + product_of_sizes(count, by.size());
  machine.budget.bytes(size);
  std::string out;
  out.reserve(size);
  size_t at = 0;
  for_each_found(text, old, most, [&](size_t found) {
    out += text.substr(at, found - at);
    out += by;
    at = found + old.size();
  });
  out += text.substr(at);
  return out;
}

std::string centered(Machine& machine, std::string_view text, int64_t width,
                     std::string_view fill) {
  const size_t missing = missing_width(text, width);
  machine.budget.check_bytes(product_of_sizes(missing, fill.size()));
  // As Python does: the larger half is on the left if the width is odd.
  const size_t left = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  return fill_of(machine, fill, left) + std::string(text) + fill_of(machine, fill, missing - left);
}

}  // namespace axle::jinja
