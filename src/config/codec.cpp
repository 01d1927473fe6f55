#include "config/codec.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle::detail {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(std::string_view expected, std::string_view got) {
  throw ConfigError(fmt::format("expected {}, got '{}'", expected, printable(got)));
}

// Accepts at most one sign: from_chars itself accepts a '-'.
template <class N>
std::from_chars_result parse_into(std::string_view text, N& v) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return std::from_chars(text.data(), text.data() + text.size(), v);
}

template <class N>
bool fits(N v, const Bounds& bounds) {
  return bounds.contain(static_cast<double>(v)) && (std::is_integral_v<N> || fits_device(v));
}

// Returns a list as text, "[None, [expert, fsdp], model]", for a type that parses such text itself.
std::string flow_text(const Json& d) {
  if (d.is_null()) return "none";
  if (!d.is_array()) return d.is_string() ? d.get<std::string>() : d.dump();
  std::string out = "[";
  for (const Json& element : d) out += (out.size() > 1 ? ", " : "") + flow_text(element);
  return out + "]";
}

}  // namespace

bool is_number(std::string_view text) {
  double v{};
  const auto [end, error] = parse_into(text, v);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

std::string text_in(const Json& d, LeafKind kind) {
  constexpr std::string_view kExpected[] = {"true or false", "an integer", "a number", "a string",
                                            "text"};
  if (kind == LeafKind::kText && !d.is_object()) return flow_text(d);
  if (d.is_string()) return d.get<std::string>();
  if (d.is_null() && kind == LeafKind::kString)
    throw ConfigError("expected a string, got none; a string 'none' needs quotes");
  if (!d.is_structured() && !d.is_null() && kind != LeafKind::kString) return d.dump();
  throw ConfigError(fmt::format("expected {}, got {}", kExpected[static_cast<size_t>(kind)],
                                d.is_null() ? "none" : printable(d.dump())));
}

template <class N>
std::string Scalar<N>::text(const void* at) {
  const N v = *static_cast<const N*>(at);
  if constexpr (std::is_same_v<N, bool>) {
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
N Scalar<N>::parse(std::string_view text, const Bounds& bounds) {
  N v{};
  if constexpr (std::is_same_v<N, bool>) {
    if (text != "true" && text != "false") fail("true or false", text);
    return text == "true";
  } else if constexpr (std::is_integral_v<N>) {
    const std::string_view digits = text.substr(text.starts_with('-') || text.starts_with('+'));
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos)
      fail("an integer", text);
    if (parse_into(text, v).ec != std::errc()) {
      using Limits = std::numeric_limits<N>;
      fail(bounds.has_min() && bounds.has_max()
               ? range_text(bounds, LeafKind::kInteger)
               : fmt::format("an integer from {} to {}", Limits::min(), Limits::max()),
           text);
    }
  } else {
    const auto [end, error] = parse_into(text, v);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
      fail("a number", text);
    if (error == std::errc::result_out_of_range) fail(kFitsDevice, text);
  }
  constexpr LeafKind kKind = std::is_integral_v<N> ? LeafKind::kInteger : LeafKind::kNumber;
  if (!bounds.contain(static_cast<double>(v))) fail(range_text(bounds, kKind), text);
  if (!fits(v, bounds)) fail(kFitsDevice, text);
  return v;
}

template <class N>
void Scalar<N>::read(const TypeOps& ops, void* at, const Json& d) {
  N& v = *static_cast<N*>(at);
  bool is_read = false;
  const auto take = [&](auto number) {
    if constexpr (std::is_integral_v<N> && !std::is_same_v<N, bool>)
      if (!std::in_range<N>(number)) return;
    is_read = std::is_same_v<N, bool> || fits(static_cast<N>(number), *ops.bounds);
    if (is_read) v = static_cast<N>(number);
  };
  if constexpr (std::is_same_v<N, bool>) {
    if (d.is_boolean()) take(d.get<bool>());
  } else if constexpr (std::is_floating_point_v<N>) {
    if (d.is_number()) take(d.get<double>());
  } else {
    if (d.is_number_unsigned())
      take(d.get<uint64_t>());
    else if (d.is_number_integer())
      take(d.get<int64_t>());
  }
  // The text of what does not fit says why.
  if (!is_read) v = parse(text_in(d, ops.leaf), ops.bounds ? *ops.bounds : Bounds{});
}

template <class N>
void Scalar<N>::write(const void* at, Json& out) {
  const N v = *static_cast<const N*>(at);
  if constexpr (std::is_same_v<N, bool> || std::is_unsigned_v<N>) {
    out = v;
  } else if constexpr (std::is_integral_v<N>) {
    if (v < 0)
      out = v;
    else
      out = static_cast<uint64_t>(v);
  } else {
    // JSON has neither infinities nor NaN: they become strings. A float is the double of its text.
    std::string text = Scalar::text(at);
    double number{};
    parse_into(text, number);
    if (std::isfinite(v))
      out = number;
    else
      out = std::move(text);
  }
}

template struct Scalar<bool>;
template struct Scalar<signed char>;
template struct Scalar<short>;
template struct Scalar<int>;
template struct Scalar<long>;
template struct Scalar<long long>;
template struct Scalar<unsigned char>;
template struct Scalar<unsigned short>;
template struct Scalar<unsigned>;
template struct Scalar<unsigned long>;
template struct Scalar<unsigned long long>;
template struct Scalar<float>;
template struct Scalar<double>;

}  // namespace axle::detail
