// Microbatches: the equal parts of a batch.
//
// Part i of n has the rows i, i + n, i + 2n, ..., so that each device splits its own rows.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Splits the rows, dim `rows` of x, into n parts: the result counts the parts by a new dim 0. n
/// must divide the rows.
Tensor split_rows(const Tensor& x, int64_t n, int64_t rows = 0);
/// Undoes split_rows: dim `rows` of each part has its rows.
Tensor merge_rows(const Tensor& parts, int64_t rows = 0);

}  // namespace axle
