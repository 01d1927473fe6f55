#include "config/document/codec.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text/unicode.h"
#include "config/fields/device_number.h"

namespace axle::detail {
namespace {

[[noreturn]] void fail(std::string_view expected, std::string_view got) {
  throw ConfigError(fmt::format("expected {}, got '{}'", expected, printable(got)));
}

template <class T>
std::string shortest(T v) {
  if (std::isnan(v)) return "nan";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string text(buffer, end);
  // Lets YAML and JSON readers tell a floating-point number from an integer.
  if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
  return text;
}

// Accepts at most one sign: from_chars itself accepts a '-'.
template <class T>
std::from_chars_result read(std::string_view text, T& v) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return std::from_chars(text.data(), text.data() + text.size(), v);
}

template <class T>
T in_bounds(T v, const Bounds& bounds, LeafKind kind, std::string_view text) {
  if (!bounds.contain(static_cast<double>(v))) fail(range_text(bounds, kind), text);
  return v;
}

template <class T>
T parse_floating(std::string_view text, const Bounds& bounds) {
  T v{};
  const auto [end, error] = read(text, v);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument)
    fail("a number", text);
  if (error == std::errc::result_out_of_range) fail(kFitsDevice, text);
  in_bounds(v, bounds, LeafKind::kNumber, text);
  if (!fits_device(v)) fail(kFitsDevice, text);
  return v;
}

template <class T>
T parse_whole(std::string_view text, T min, T max, const Bounds& bounds) {
  const std::string_view digits =
      text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos)
    fail("an integer", text);
  T v{};
  const auto error = read(text, v).ec;
  if (error != std::errc() || v < min || v > max) {
    fail(bounds.has_min() && bounds.has_max() ? range_text(bounds, LeafKind::kInteger)
                                              : fmt::format("an integer from {} to {}", min, max),
         text);
  }
  return in_bounds(v, bounds, LeafKind::kInteger, text);
}

}  // namespace

std::string integer_text(int64_t v) { return std::to_string(v); }
bool is_number(std::string_view text) {
  double v{};
  const auto [end, error] = read(text, v);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

std::string unsigned_text(uint64_t v) { return std::to_string(v); }
std::string number_text(float v) { return shortest(v); }
std::string number_text(double v) { return shortest(v); }

bool parse_bool(std::string_view text) {
  if (text != "true" && text != "false") fail("true or false", text);
  return text == "true";
}
int64_t parse_integer(std::string_view text, int64_t min, int64_t max, const Bounds& bounds) {
  return parse_whole(text, min, max, bounds);
}
uint64_t parse_unsigned(std::string_view text, uint64_t max, const Bounds& bounds) {
  return parse_whole(text, uint64_t{0}, max, bounds);
}
float parse_float(std::string_view text, const Bounds& bounds) {
  return parse_floating<float>(text, bounds);
}
double parse_double(std::string_view text, const Bounds& bounds) {
  return parse_floating<double>(text, bounds);
}

}  // namespace axle::detail
