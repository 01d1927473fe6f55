// Copies parts of matrices, as they are or transposed.
#pragma once

#include <cstdint>

#include "ir/host_tensor.h"

namespace axle {

/// A part of a matrix: its first element, and the elements of a row of the whole matrix.
struct MatrixWindow {
  int64_t offset, stride;
};

/// Fills the window `to` of `target`, of [rows, columns] elements, with the window `from` of
/// `source`: of as many, or of [columns, rows] if `transpose`. Elements of both have one size.
void copy_elements(const HostTensor& source, MatrixWindow from, bool transpose, int64_t rows,
                   int64_t columns, HostTensor& target, MatrixWindow to);

}  // namespace axle
