// How far the elements of a result may be from those of a reference.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace axle
