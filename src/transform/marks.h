// Marks of the results, operands or parameters of an op or region, one for each: for rules that
// keep some of them.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace axle {

/// Returns the elements that are marked.
template <class T>
std::vector<T> selected(const std::vector<T>& elements, const std::vector<bool>& marks) {
  std::vector<T> out;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) out.push_back(elements[i]);
  }
  return out;
}
/// Undoes selected(): puts `results` in order at the marked places, empty tensors at the others.
Values spread_results(const Values& results, const std::vector<bool>& used);
/// Marks the parameters of `region` that its ops and results read.
std::vector<bool> needed_parameters(const Region& region);

}  // namespace axle
