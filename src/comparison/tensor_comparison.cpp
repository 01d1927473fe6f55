#include "comparison/tensor_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "config/leaf.h"

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

double limit_from(std::string_view text) {
  const double out = parse_leaf<double>(text);
  if (!std::isfinite(out) || out < 0)
    throw ConfigError(fmt::format("expected a finite number that is not negative, got {}", text));
  return out;
}

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

namespace {

using Json = nlohmann::ordered_json;

std::complex<double> complex_element(const HostTensor& x, int64_t i) {
  std::complex<double> out;
  dispatch_complex(x.dtype(), [&]<class T>(std::type_identity<T>) {
    out = std::complex<double>(x.values<T>()[i]);
  });
  return out;
}

// 9 digits distinguish any two 32-bit numbers, and the default format of fmt any two doubles.
std::string float_text(double v, bool is_double) {
  if (std::isnan(v)) return "nan";
  return is_double ? fmt::format("{}", v) : fmt::format("{:.9g}", v);
}

Json float_json(double v) { return std::isfinite(v) ? Json(v) : Json(float_text(v, true)); }

}  // namespace

std::string element_text(const HostTensor& x, int64_t i) {
  const bool is_double = real_dtype(x.dtype()) == DType::kF64;
  if (is_complex(x.dtype())) {
    const std::complex<double> v = complex_element(x, i);
    const std::string imaginary = float_text(v.imag(), is_double);
    return fmt::format("{}{}{}i", float_text(v.real(), is_double),
                       imaginary.starts_with('-') ? "" : "+", imaginary);
  }
  return is_float(x.dtype()) ? float_text(x.at(i), is_double) : x.element(i).text();
}

std::string tensor_text(const HostTensor& x, int64_t max_values) {
  std::string out = to_text(x.type()) + " {";
  for (int64_t i = 0; i < std::min(x.size(), max_values); ++i)
    out += (i ? ", " : "") + element_text(x, i);
  return out + (x.size() > max_values ? ", ...}" : "}");
}

Json element_json(const HostTensor& x, int64_t i) {
  if (is_complex(x.dtype())) {
    const std::complex<double> v = complex_element(x, i);
    return Json::array({float_json(v.real()), float_json(v.imag())});
  }
  if (is_float(x.dtype())) return float_json(x.at(i));
  if (x.dtype() == DType::kPred) return Json(x.at(i) != 0);
  const Scalar whole = x.element(i);
  return whole.fits(DType::kI64) ? Json(whole.as<int64_t>()) : Json(whole.as<uint64_t>());
}

namespace {

// Returns "a, b, c, ...".
std::string first_of(std::vector<std::string> names) {
  constexpr size_t kMaxNames = 3;
  if (names.size() > kMaxNames) names.resize(kMaxNames), names.push_back("...");
  return join(names, ", ");
}

// Returns "3 differ (a, b, c)" for the tensors with this verdict; empty if there are none.
std::string with_verdict(const std::vector<ComparedTensor>& tensors, Verdict verdict,
                         std::string_view what) {
  std::vector<std::string> names;
  for (const ComparedTensor& t : tensors) {
    if (t.verdict == verdict) names.push_back(t.name);
  }
  return names.empty() ? "" : fmt::format("{} {} ({})", names.size(), what, first_of(names));
}

}  // namespace

ComparedTensor missing_tensor(const std::string& name, const HostTensor& expected,
                              const ElementTolerance& tolerance) {
  return {.name = name,
          .verdict = Verdict::kMissing,
          .expected = to_text(expected.type()),
          .got = {},
          .max_abs = kInfinity,
          .max_rel = kInfinity,
          .tolerance = tolerance};
}

ComparedTensor compare_tensor(const std::string& name, const HostTensor& got,
                              const HostTensor& expected, const ElementTolerance& tolerance,
                              double scale) {
  ComparedTensor out = missing_tensor(name, expected, tolerance);
  out.got = to_text(got.type());
  out.verdict = Verdict::kOtherShape;
  if (got.shape() != expected.shape()) return out;
  if (is_integer(got.dtype()) && is_integer(expected.dtype())) out.tolerance = {};
  const ElementDifference difference = compare_elements(got, expected, tolerance, scale);
  out.max_abs = difference.max_abs;
  out.max_rel = out.max_abs == 0 ? 0 : out.max_abs / scale;
  out.verdict = difference.agrees ? Verdict::kAgrees : Verdict::kDiffers;
  out.worst = worst_text(difference, got, expected);
  return out;
}

bool TensorComparison::agrees() const {
  return std::ranges::all_of(tensors,
                             [](const ComparedTensor& t) { return t.verdict == Verdict::kAgrees; });
}

std::string TensorComparison::summary() const {
  std::vector<std::string> parts;
  for (const auto& [verdict, what] : {std::pair(Verdict::kDiffers, "differ"),
                                      {Verdict::kOtherShape, "of another shape"},
                                      {Verdict::kMissing, "missing"}}) {
    if (std::string part = with_verdict(tensors, verdict, what); !part.empty())
      parts.push_back(std::move(part));
  }
  const std::string all = counted(std::ssize(tensors), "tensor");
  if (parts.empty()) return fmt::format("{}: {} agree", reference, all);
  return fmt::format("{}: expected {} to agree, got {}", reference, all, join(parts, ", "));
}

std::string to_text(const TensorComparison& c) {
  TextTable table({"tensor", "type", "max abs", "max rel", "tolerance", "verdict"});
  for (const ComparedTensor& t : c.tensors) {
    std::string verdict = to_text(t.verdict);
    if (t.verdict == Verdict::kOtherShape) verdict += ": " + t.got;
    const bool is_number = t.verdict == Verdict::kAgrees || t.verdict == Verdict::kDiffers;
    if (t.verdict == Verdict::kDiffers) verdict += " at " + t.worst;
    table.add({t.name, t.expected, is_number ? fmt::format("{:.3g}", t.max_abs) : "-",
               is_number ? fmt::format("{:.3g}", t.max_rel) : "-", to_text(t.tolerance),
               std::move(verdict)});
  }
  std::string out = table.text();
  for (const std::string& line : c.not_compared) out += "not compared: " + line + "\n";
  if (!c.only_in_results.empty())
    out += fmt::format("not in the reference: {} ({})\n", c.only_in_results.size(),
                       first_of(c.only_in_results));
  return out;
}

Json to_json(const TensorComparison& c) {
  Json out = {{"reference", c.reference}, {"agrees", c.agrees()}, {"tensors", Json::array()}};
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  const auto tolerance = [](const ElementTolerance& t) {
    const bool is_number = to_text(t) == to_text(ElementTolerance{.largest = t.largest});
    return is_number ? Json(t.largest) : Json(to_text(t));
  };
  for (const ComparedTensor& t : c.tensors) {
    out["tensors"].push_back({{"name", t.name},
                              {"verdict", to_text(t.verdict)},
                              {"expected", t.expected},
                              {"got", t.got.empty() ? Json(nullptr) : Json(t.got)},
                              {"max_abs", number(t.max_abs)},
                              {"max_rel", number(t.max_rel)},
                              {"tolerance", tolerance(t.tolerance)},
                              {"worst", t.worst.empty() ? Json(nullptr) : Json(t.worst)}});
  }
  out["not_compared"] = c.not_compared;
  out["not_in_reference"] = c.only_in_results;
  return out;
}

}  // namespace axle
