// Loops with a fixed number of iterations, differentiable.
#pragma once

#include <functional>

#include "ir/tensor.h"

namespace axle {

struct ScanResult {
  /// Of the body: the next carry. Of the loop: the last carry.
  Values carry;
  /// Of the body: values of this iteration. Of the loop: the same stacked along a new leading dim.
  Values ys;
};
/// From the carry and this iteration's slices of xs.
using ScanBody = std::function<ScanResult(const Values& carry, const Values& xs)>;

struct ScanOptions {
  /// Iterations run from the last slice to the first.
  bool reverse = false;
};

/// carry_{i+1}, ys[i] = body(carry_i, xs[i]) for i < length; every tensor of xs has `length` as its
/// leading dim. Outer tensors may be used in the body. Throws ShapeError if the carry's types
/// change.
ScanResult scan(const ScanBody& body, const Values& init, const Values& xs, int64_t length,
                const ScanOptions& options = {});

}  // namespace axle
