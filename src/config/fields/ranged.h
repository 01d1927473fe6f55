// Numbers with a range that is part of the field's type: `Positive<float> eps = 1e-6f;`.
//
// C++ code can assign a value out of range; check_complete() refuses it, and so does building a
// module from it. Text out of range is refused as soon as it is read.
#pragma once

#include <concepts>

#include "config/document/codec.h"

namespace axle {

/// A number of type T within kRange. It converts to T, so that layer code uses it as a T.
template <class T, Bounds kRange>
class Ranged {
 public:
  using Number = T;
  static constexpr Bounds kBounds = kRange;

  constexpr Ranged() = default;
  constexpr Ranged(T value) : value_(value) {}
  constexpr operator T() const { return value_; }

 private:
  T value_ = {};
};

namespace detail {
template <class T>
inline constexpr Bounds kPositive = {.min = 0, .open_min = true};
template <std::integral T>
inline constexpr Bounds kPositive<T> = {.min = 1};
}  // namespace detail

template <class T>
using Positive = Ranged<T, detail::kPositive<T>>;
template <class T>
using NonNegative = Ranged<T, Bounds{.min = 0}>;
template <class T, int64_t kMin>
using AtLeast = Ranged<T, Bounds{.min = kMin}>;
/// From 0 to 1.
using Fraction = Ranged<double, Bounds{.min = 0, .max = 1}>;
/// At least 0 and below 1.
using FractionBelowOne = Ranged<double, Bounds{.min = 0, .max = 1, .open_max = true}>;

template <class T, Bounds kRange>
struct Codec<Ranged<T, kRange>> {
  static constexpr LeafKind kKind = Codec<T>::kKind;
  static std::string text(T v) { return Codec<T>::text(v); }
  static T parse(std::string_view s) { return Codec<T>::parse(s, kRange); }
};

}  // namespace axle
