// Fields without a sensible default.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace axle {

namespace detail {
/// Converts to any type; stands for a field value while has_fields counts the fields of an
/// aggregate.
struct Any {
  template <class T>
  operator T() const;
};
template <class T>
concept IsNumber = requires {
  typename T::Number;
};
template <class T>
struct NumberIn {
  using type = void*;
};
template <IsNumber T>
struct NumberIn<T> {
  using type = typename T::Number;
};
template <class T>
using NumberOf = typename NumberIn<T>::type;
[[noreturn]] void fail_unset_read();
}  // namespace detail

inline constexpr struct RequiredTag {
} REQUIRED;

/// A value that must be set before it is read: `Required<int64_t> num_heads = REQUIRED;`. Reading
/// it before throws ConfigError; missing() lists all unset fields.
template <class T>
class Required {
 public:
  Required(RequiredTag) {}
  Required(T value) : value_(std::move(value)) {}
  template <std::convertible_to<T> U>
  requires(!std::same_as<U, detail::Any> && !std::same_as<U, T>) Required(U value)
      : value_(static_cast<T>(std::move(value))) {}

  operator const T&() const { return get(); }
  /// Converts to the plain number, if T is a number with a range (ranged.h).
  operator detail::NumberOf<T>() const requires detail::IsNumber<T> { return get(); }
  const T& get() const {
    if (!value_) detail::fail_unset_read();
    return *value_;
  }
  const T* operator->() const { return &get(); }
  const T& operator*() const { return get(); }
  bool has_value() const { return value_.has_value(); }

  /// Returns the storage of the value, for generic code; it is none while the field is unset.
  std::optional<T>& slot() { return value_; }

 private:
  std::optional<T> value_;
};

}  // namespace axle
