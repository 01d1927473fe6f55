// Small tools for containers: lists of parts of others, loops from the end, sums that may overflow.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace axle {

/// Returns the elements of all parts, in their order, as one list.
template <class T>
std::vector<T> concatenate(std::initializer_list<std::span<const T>> parts) {
  std::vector<T> out;
  for (const std::span<const T> part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

template <class T>
std::vector<T> concatenate(std::span<const std::vector<T>> parts) {
  std::vector<T> out;
  for (const std::vector<T>& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// `for (const auto& x : Reversed(container))`. A temporary container lives as long as the loop.
/// In place of std::views::reverse, which clang before 16 does not compile with g++'s library.
template <class Container>
class Reversed {
 public:
  explicit Reversed(Container&& container) : container_(std::forward<Container>(container)) {}
  auto begin() const { return std::rbegin(container_); }
  auto end() const { return std::rend(container_); }

 private:
  Container container_;
};
template <class Container>
Reversed(Container&&) -> Reversed<Container>;

/// Returns a * b; none on overflow.
inline std::optional<int64_t> checked_product(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Returns the product of all sizes: 1 for an empty list, 0 if any size is 0; none on overflow.
inline std::optional<int64_t> checked_product(std::span<const int64_t> sizes) {
  std::optional<int64_t> out = 1;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    if (out) out = checked_product(*out, size);
  }
  return out;
}

/// Returns the product of all sizes; the largest int64_t on overflow.
inline int64_t saturating_product(std::span<const int64_t> sizes) {
  return checked_product(sizes).value_or(std::numeric_limits<int64_t>::max());
}

/// Returns a + b for sizes; the largest int64_t on overflow.
inline int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

/// Returns a * b for sizes; the largest int64_t on overflow.
inline int64_t saturating_product(int64_t a, int64_t b) {
  return checked_product(a, b).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace axle
