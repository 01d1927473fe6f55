// Numbers beside tensors: `x * 2`, `full(shape, -1)`.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "ir/dtype.h"

namespace axle {

/// A C++ number as it was written: no integer loses digits on its way into a program.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T value)  // NOLINT: `x * 2` reads better without a call
      : value_(stored(value)) {}
  /// What stands for a number: a config's field with a range.
  template <class T>
  requires std::is_arithmetic_v<typename T::Number> Scalar(const T& field)  // NOLINT: as above
      : Scalar(static_cast<typename T::Number>(field)) {}

  /// In the C++ type of a dtype (convert_element).
  template <class T>
  T as() const {
    return std::visit([](auto v) { return convert_element<T>(v); }, value_);
  }
  /// Whether the dtype has this number: floats have all (rounded), integers whole ones in their
  /// range.
  bool fits(DType dtype) const;
  /// Decimal digits that give the number back.
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
