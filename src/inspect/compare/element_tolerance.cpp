#include "inspect/compare/element_tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "config/codec.h"
#include "inspect/compare/tensor_comparison.h"

namespace axle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Limit {
  std::string_view name;
  double ElementTolerance::*member;
};
constexpr Limit kLimits[] = {{"largest", &ElementTolerance::largest},
                             {"rtol", &ElementTolerance::rtol},
                             {"atol", &ElementTolerance::atol},
                             {"ulp", &ElementTolerance::ulp}};

double limit_from(std::string_view text) {
  const double out = Codec<double>::parse(text);
  if (!std::isfinite(out) || out < 0) {
    throw ConfigError(fmt::format("expected a finite number that is not negative, got {}", text));
  }
  return out;
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isfinite(d) ? d : kInfinity;
}

// Returns the difference of two integers; 0 only if they are equal. Differences of doubles would
// not be exact: they round integers beyond 2^53.
double exact_difference(const Scalar& a, const Scalar& b) {
  const auto x = a.as<uint64_t>(), y = b.as<uint64_t>();  // two's complement
  const bool x_below = !a.fits(DType::kU64), y_below = !b.fits(DType::kU64);
  if (x_below == y_below) return static_cast<double>(x > y ? x - y : y - x);
  return x_below ? static_cast<double>(-x) + static_cast<double>(y)
                 : static_cast<double>(x) + static_cast<double>(-y);
}

bool is_exact(DType dtype) { return is_integer(dtype) || dtype == DType::kPred; }

// The bits of the fraction and the least exponent of a float.
struct FloatFormat {
  int fraction_bits, min_exponent;
};
FloatFormat precision_of(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::kF64:
      return {52, -1022};
    case DType::kF16:
      return {10, -14};
    case DType::kBF16:
      return {7, -126};
    case DType::kF8E4M3FN:
      return {3, -6};
    case DType::kF8E5M2:
      return {2, -14};
    default:
      return {23, -126};
  }
}

double unit_in_last_place(double value, const FloatFormat& p) {
  const int exponent = value == 0 ? p.min_exponent : std::max(std::ilogb(value), p.min_exponent);
  return std::ldexp(1.0, exponent - p.fraction_bits);
}

// The elements of a tensor as numbers; complex numbers as two.
class Parts {
 public:
  explicit Parts(const HostTensor& x)
      : x_(is_complex(x.dtype()) ? x.astype(DType::kC128) : x),
        is_complex_(is_complex(x.dtype())) {}
  double real(int64_t i) const { return is_complex_ ? element(i).real() : x_.at(i); }
  double imag(int64_t i) const { return is_complex_ ? element(i).imag() : 0; }
  double magnitude(int64_t i) const {
    return is_complex_ ? std::abs(element(i)) : std::abs(x_.at(i));
  }

 private:
  std::complex<double> element(int64_t i) const { return x_.values<std::complex<double>>()[i]; }
  HostTensor x_;
  bool is_complex_;
};

bool has_other_sign(double a, double b) {
  return !std::isnan(a) && !std::isnan(b) && std::signbit(a) != std::signbit(b);
}

std::string index_text(int64_t i, const Shape& shape) {
  Shape index;
  for (const int64_t stride : row_major_strides(shape)) {
    index.push_back(i / stride);
    i %= stride;
  }
  return to_text(index);
}

}  // namespace

ElementTolerance element_tolerance_from(std::string_view text) {
  ElementTolerance out;
  if (text == "bitwise") {
    out.bitwise = true;
    return out;
  }
  if (text.find('=') == text.npos) {
    out.largest = limit_from(text);
    return out;
  }
  std::vector<std::string_view> given;
  for (const std::string_view part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string_view name = trim(part.substr(0, equals));
    const auto limit = std::ranges::find(kLimits, name, &Limit::name);
    if (equals == part.npos || limit == std::end(kLimits)) {
      throw ConfigError(fmt::format(
          "expected a number, bitwise, or some of largest=, rtol=, atol=, ulp=, got '{}'", text));
    }
    double& value = out.*limit->member;
    const std::string_view number = trim(part.substr(equals + 1));
    if (std::ranges::count(given, name))
      throw ConfigError(fmt::format("{}=: expected one limit, got two", name));
    given.push_back(name);
    value = limit_from(number);
    if (name == "ulp" && value != std::floor(value))
      throw ConfigError(fmt::format("ulp=: expected a whole number of units, got {}", number));
  }
  return out;
}

std::string to_text(const ElementTolerance& t) {
  if (t.bitwise) return "bitwise";
  std::vector<std::string> out;
  for (const Limit& limit : kLimits) {
    if (t.*limit.member > 0) out.push_back(fmt::format("{}={:g}", limit.name, t.*limit.member));
  }
  if (out.empty()) return "0";
  return out.size() == 1 && t.largest > 0 ? fmt::format("{:g}", t.largest) : join(out, ", ");
}

double largest_in(const HostTensor& x) {
  const Parts parts(x);
  double out = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(parts.magnitude(i))) out = std::max(out, parts.magnitude(i));
  }
  return out;
}

ElementDifference compare_elements(const HostTensor& got, const HostTensor& expected,
                                   const ElementTolerance& t, double scale) {
  const bool are_integers = is_integer(got.dtype()) && is_integer(expected.dtype());
  const bool exact = is_exact(got.dtype()) && is_exact(expected.dtype());
  const FloatFormat a = precision_of(got.dtype()), b = precision_of(expected.dtype());
  const FloatFormat coarser = a.fraction_bits < b.fraction_bits ? a : b;
  const Parts x(got), y(expected);
  ElementDifference out;
  double worst = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double d =
        are_integers ? exact_difference(got.element(i), expected.element(i))
                     : std::max(difference(x.real(i), y.real(i)), difference(x.imag(i), y.imag(i)));
    out.max_abs = std::max(out.max_abs, d);
    const bool other_zero =
        t.bitwise && !exact &&
        (has_other_sign(x.real(i), y.real(i)) || has_other_sign(x.imag(i), y.imag(i)));
    if (d == 0 && !other_zero) continue;
    double allowed = 0;
    if (!exact && !t.bitwise) {
      const double magnitude = y.magnitude(i);
      allowed = std::max({t.largest * scale, t.atol});
      if (std::isfinite(magnitude)) {
        allowed = std::max({allowed, t.rtol * magnitude,
                            t.ulp == 0 ? 0 : t.ulp * unit_in_last_place(magnitude, coarser)});
      }
    }
    const bool agrees = d <= allowed && !other_zero;
    out.agrees &= agrees;
    const double excess = std::isfinite(d) && allowed > 0 ? d / allowed : agrees ? 0 : kInfinity;
    if (out.worst < 0 || excess > worst) {
      worst = excess;
      out.worst = i;
    }
  }
  return out;
}

std::string worst_text(const ElementDifference& difference, const HostTensor& got,
                       const HostTensor& expected) {
  if (difference.worst < 0) return {};
  const int64_t i = difference.worst;
  return fmt::format("{}: {} instead of {}", index_text(i, expected.shape()), element_text(got, i),
                     element_text(expected, i));
}

}  // namespace axle
