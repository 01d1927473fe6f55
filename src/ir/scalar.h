// C++ numbers as operands of tensors: `x * 2`, `full(shape, -1)`.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "ir/dtype.h"

namespace axle {

/// A C++ number stored without conversion: no integer loses digits before the dtype is known.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T value)  // NOLINT: `x * 2` reads better without a call
      : value_(stored(value)) {}
  /// Takes a ranged number, such as a field of a config.
  template <class T>
  requires std::is_arithmetic_v<typename T::Number> Scalar(const T& field)  // NOLINT: as above
      : Scalar(static_cast<typename T::Number>(field)) {}

  /// Converts to the C++ type of a dtype (convert_element).
  template <class T>
  T as() const {
    return std::visit([](auto v) { return convert_element<T>(v); }, value_);
  }
  /// True if the dtype can hold this number. Floats hold every number (rounded); integers hold
  /// whole numbers in their range, and predicates 0 and 1.
  bool fits(DType dtype) const;
  /// Returns the fewest decimal digits from which the number can be read back exactly.
  std::string text() const;

 private:
  template <class T>
  static auto stored(T value) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(value);
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<uint64_t>(value);
    else
      return static_cast<int64_t>(value);
  }
  std::variant<int64_t, uint64_t, double> value_;
};

}  // namespace axle
