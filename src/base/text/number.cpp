#include "base/text/number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

template <class N>
constexpr bool kIsBool = std::is_same_v<N, bool>;

[[noreturn]] void fail_expected(std::string_view expected, std::string_view got) {
  throw ConfigError(fmt::format("expected {}, got '{}'", expected, printable(got)));
}

// Accepts at most one sign: from_chars itself accepts a '-'.
template <class N>
std::from_chars_result parse_into(std::string_view text, N& v) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return std::from_chars(text.data(), text.data() + text.size(), v);
}

template <class N>
std::string expected_instead_of(N v, const Bounds& bounds) {
  return expected_instead(static_cast<double>(v), bounds, std::is_integral_v<N>);
}

// Returns what stands for the value in a text.
template <class N>
std::string text_in(const Json& d) {
  if (d.is_string()) return d.get<std::string>();
  if (!d.is_structured() && !d.is_null()) return d.dump();
  throw ConfigError(fmt::format("expected {}, got {}",
                                kIsBool<N>              ? "true or false"
                                : std::is_integral_v<N> ? "an integer"
                                                        : "a number",
                                d.is_null() ? "none" : printable(d.dump())));
}

}  // namespace

std::string range_text(const Bounds& bounds, bool is_integer) {
  std::string out = is_integer ? "an integer" : "a number";
  if (!bounds.has_min() && !bounds.has_max()) return is_integer ? out : "a finite number";
  if (bounds.has_min() && bounds.has_max() && !bounds.open_min && !bounds.open_max)
    return fmt::format("{} from {} to {}", out, bounds.min, bounds.max);
  if (bounds.has_min())
    out += fmt::format(" {} {}", bounds.open_min ? "above" : "of at least", bounds.min);
  if (bounds.has_min() && bounds.has_max()) out += " and";
  if (bounds.has_max())
    out += fmt::format(" {} {}", bounds.open_max ? "below" : "of at most", bounds.max);
  return out;
}

bool fits_device(double v) {
  using Limits = std::numeric_limits<float>;
  const double size = std::abs(v);
  return size == 0 || (size >= Limits::min() && size <= Limits::max());
}

std::string expected_instead(double v, const Bounds& bounds, bool is_integer) {
  if (!bounds.contain(v)) return range_text(bounds, is_integer);
  return is_integer || fits_device(v) ? "" : std::string(kFitsDevice);
}

bool is_number_text(std::string_view text) {
  double v{};
  const auto [end, error] = parse_into(text, v);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

template <class N>
std::string NumberCodec<N>::text(N v) {
  if constexpr (kIsBool<N>) {
    return v ? "true" : "false";
  } else if constexpr (std::is_integral_v<N>) {
    return std::to_string(v);
  } else {
    if (std::isnan(v)) return "nan";
    char buffer[64];
    std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
    // Lets YAML and JSON readers tell a floating-point number from an integer.
    if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
    return text;
  }
}

template <class N>
N NumberCodec<N>::parse(std::string_view text, const Bounds& bounds) {
  N v{};
  if constexpr (kIsBool<N>) {
    if (text != "true" && text != "false") fail_expected("true or false", text);
    return text == "true";
  } else if constexpr (std::is_integral_v<N>) {
    const std::string_view digits = text.substr(text.starts_with('-') || text.starts_with('+'));
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos)
      fail_expected("an integer", text);
    if (parse_into(text, v).ec != std::errc()) {
      using Limits = std::numeric_limits<N>;
      fail_expected(bounds.has_min() && bounds.has_max()
                        ? range_text(bounds, true)
                        : fmt::format("an integer from {} to {}", Limits::min(), Limits::max()),
                    text);
    }
  } else {
    const auto [end, error] = parse_into(text, v);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
      fail_expected("a number", text);
    if (error == std::errc::result_out_of_range) fail_expected(kFitsDevice, text);
  }
  if (const std::string wanted = expected_instead_of(v, bounds); !wanted.empty())
    fail_expected(wanted, text);
  return v;
}

template <class N>
N NumberCodec<N>::read(const Json& d, const Bounds& bounds) {
  if constexpr (kIsBool<N>) {
    if (d.is_boolean()) return d.get<bool>();
  } else if constexpr (std::is_floating_point_v<N>) {
    if (d.is_number()) {
      const N v = static_cast<N>(d.get<double>());
      if (expected_instead_of(v, bounds).empty()) return v;
    }
  } else {
    const auto in_range = [&](auto v) {
      return std::in_range<N>(v) && bounds.contain(static_cast<double>(v));
    };
    if (d.is_number_unsigned()) {
      if (const auto v = d.get<uint64_t>(); in_range(v)) return static_cast<N>(v);
    } else if (d.is_number_integer()) {
      if (const auto v = d.get<int64_t>(); in_range(v)) return static_cast<N>(v);
    }
  }
  // The text of what does not fit says why.
  return parse(text_in<N>(d), bounds);
}

template <class N>
void NumberCodec<N>::write(N v, Json& out) {
  if constexpr (kIsBool<N> || std::is_unsigned_v<N>) {
    out = v;
  } else if constexpr (std::is_integral_v<N>) {
    if (v < 0)
      out = v;
    else
      out = static_cast<uint64_t>(v);
  } else {
    // JSON has neither infinities nor NaN: they become strings. A float is the double of its text.
    std::string text = NumberCodec::text(v);
    double number{};
    parse_into(text, number);
    if (std::isfinite(v))
      out = number;
    else
      out = std::move(text);
  }
}

template struct NumberCodec<bool>;
template struct NumberCodec<signed char>;
template struct NumberCodec<short>;
template struct NumberCodec<int>;
template struct NumberCodec<long>;
template struct NumberCodec<long long>;
template struct NumberCodec<unsigned char>;
template struct NumberCodec<unsigned short>;
template struct NumberCodec<unsigned>;
template struct NumberCodec<unsigned long>;
template struct NumberCodec<unsigned long long>;
template struct NumberCodec<float>;
template struct NumberCodec<double>;

}  // namespace axle
