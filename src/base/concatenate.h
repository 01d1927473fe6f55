// Lists put together from parts of other lists.
#pragma once

#include <initializer_list>
#include <span>
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

}  // namespace axle
