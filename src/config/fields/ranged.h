// Numbers that know their range, stated where the field stands: `Positive<float> eps = 1e-6f;`.
//
// In C++ a value out of range can be written down; it is refused by check_complete() and before a
// module is built from it, in text as soon as it is read.
#pragma once

#include <concepts>

#include "config/document/codec.h"

namespace axle {

/// A T of this range; stands for the T in layer code.
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
