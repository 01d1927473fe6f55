#include "inspect/compare/tensor_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "base/text/text_table.h"

namespace axle {
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

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

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
          .max_abs = kUnbounded,
          .max_rel = kUnbounded,
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
