// Type checks of loop carries, scanned inputs, conditions and results of branches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace axle {

/// Throws ShapeError unless `next`, the carry that the body of a loop returns, has the types of
/// `init`. The error lists every tensor that differs, by its name or, where `names` is empty, its
/// number, with both types and where the new one comes from.
void check_carry(std::string_view op, const std::vector<std::string>& names, const Values& init,
                 const Values& next);

/// Throws ShapeError unless the results of branch number `branch` have the types of those of branch
/// 0.
void check_branch(std::string_view op, size_t branch, const Values& first, const Values& own);

/// Throws ShapeError unless `xs`, which a scan slices, has `length` slices.
void check_stacked(const Tensor& xs, int64_t length);

/// Throws ShapeError unless `results`, those of the condition of a loop, are one pred scalar.
void check_condition(std::string_view op, const Values& results);

}  // namespace axle
