// Maps a function over rows that belong to groups, as in a mixture of experts whose tokens are
// sorted by expert: vmap over the rows, where products with a matrix of the row's group become one
// ragged_dot instead of a copy of the matrix for each row.
#pragma once

#include "transform/trace.h"

namespace axle {

/// How a result of the rows is returned.
enum class RowResult {
  kEach,    // one for each row, along a new dim 0
  kSame,    // the one that is the same for all rows
  kMaximum  // the largest one: of all rows, or of all groups if it depends on the group alone
};

/// Computes fn(row, group of the row) for each row, in one pass over all.
///
/// Group g is made of the group_sizes[g] rows after those of the groups before it; the sizes add up
/// to the number of rows. `fn` sees the values in `rows` without their dim 0, which counts the
/// rows, then those in `groups` without their dim 0, which counts the groups. It may use outer
/// tensors, which are the same for all rows. Each result gets a dim 0 that counts the rows.
///
/// Products of a row with a value of its group run as ragged_dot. Other ops that take both get a
/// copy of the group's value for each row, so those values should be small: biases, scales. Throws
/// ShapeError if the sizes of dims do not fit, and for a loop, a condition or a custom_vjp that
/// takes both.
///
/// `results` says what becomes of each result (empty: kEach). Throws ShapeError if one of kSame
/// depends on the row or its group.
Values ragged_map(const TensorFunction& fn, const Values& rows, const Values& groups,
                  const Tensor& group_sizes, const std::vector<RowResult>& results = {});

}  // namespace axle
