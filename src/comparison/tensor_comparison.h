// Tensors beside those of another implementation: how far their elements may be apart, and the
// outcome.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "ir/host_tensor.h"

namespace axle {

/// An element agrees if its difference is at most the largest of the limits that are set. Integers
/// and predicates must be equal for any limits.
struct ElementTolerance {
  double largest = 0;  // relative to the largest element of the reference
  double rtol = 0;     // relative to the element of the reference
  double atol = 0;     // absolute
  double ulp = 0;      // whole units of the last place, of the coarser dtype
  /// Equal bits, so that zeros have the same sign; NaNs are equal.
  bool bitwise = false;
};

/// Reads a finite number from 0. Throws ConfigError.
double limit_from(std::string_view text);
/// Reads "1e-5" (the same as "largest=1e-5"), "bitwise", or limits: "rtol=1e-5, ulp=4". Throws
/// ConfigError.
ElementTolerance element_tolerance_from(std::string_view text);
/// Writes what element_tolerance_from reads.
std::string to_text(const ElementTolerance& tolerance);

/// The element that differs most, measured by what is allowed for it.
struct ElementDifference {
  bool agrees = true;
  double max_abs = 0;  // the largest difference; infinite for a NaN on one side only
  /// Row-major index of the worst element; -1: all elements are equal.
  int64_t worst = -1;
};

/// Returns the largest finite magnitude of an element.
double largest_in(const HostTensor& x);

/// Compares tensors of one shape. `scale` is what `largest` is relative to.
ElementDifference compare_elements(const HostTensor& got, const HostTensor& expected,
                                   const ElementTolerance& tolerance, double scale);

/// Writes "[1, 2]: 0.5 instead of 0.25"; an empty text if all elements are equal.
std::string worst_text(const ElementDifference& difference, const HostTensor& got,
                       const HostTensor& expected);

/// Writes element i in row-major order with the digits that distinguish it from all others of its
/// dtype: "0.1", "-3", "nan", "1-2i". NaNs have no sign.
std::string element_text(const HostTensor& x, int64_t i);
/// Writes the type and up to `max_values` elements: "f32[3] {1, 2, nan}".
std::string tensor_text(const HostTensor& x, int64_t max_values);

/// Returns element i as the exact number, as true or false, or as "nan", "inf" or "-inf". A complex
/// number is [real, imaginary].
nlohmann::ordered_json element_json(const HostTensor& x, int64_t i);

enum class Verdict { kAgrees, kDiffers, kOtherShape, kMissing };
constexpr auto texts_of(Verdict) {
  return std::to_array<EnumText<Verdict>>({{Verdict::kAgrees, "ok"},
                                           {Verdict::kDiffers, "differs"},
                                           {Verdict::kOtherShape, "other shape"},
                                           {Verdict::kMissing, "missing"}});
}

struct ComparedTensor {
  std::string name;  // in the reference
  Verdict verdict;
  std::string expected, got;  // types; `got` is empty if the result is missing
  /// The largest difference, absolute and relative to the scale. Both are infinite if only one side
  /// is a NaN.
  double max_abs = 0, max_rel = 0;
  ElementTolerance tolerance = {};  // none for integers
  std::string worst = {};           // worst_text(): the position and values of the worst element
};

/// Returns what is known before a result is compared: that it is missing.
ComparedTensor missing_tensor(const std::string& name, const HostTensor& expected,
                              const ElementTolerance& tolerance);
/// Compares a result with the tensor `name` of the reference. `scale` is what
/// ElementTolerance::largest is relative to.
ComparedTensor compare_tensor(const std::string& name, const HostTensor& got,
                              const HostTensor& expected, const ElementTolerance& tolerance,
                              double scale);

struct TensorComparison {
  std::string reference;  // path of the file
  std::vector<ComparedTensor> tensors;
  /// Sections of the reference that were not compared, with the reason.
  std::vector<std::string> not_compared;
  /// Names of results that are not in the reference.
  std::vector<std::string> only_in_results;

  bool agrees() const;
  /// Returns "2 of 9 differ (grad/in/x, out), 1 missing (out/loss)".
  std::string summary() const;
};
std::string to_text(const TensorComparison& comparison);
nlohmann::ordered_json to_json(const TensorComparison& comparison);

}  // namespace axle
