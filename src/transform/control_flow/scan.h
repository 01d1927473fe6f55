// Differentiable loops with a fixed number of iterations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace axle {

/// The result of a scan or of its body.
struct ScanResult {
  /// Body: the next carry. Scan: the last carry.
  Values carry;
  /// Body: values of this iteration. Scan: these values, stacked along a new leading dim.
  Values ys;
};
/// Computes one iteration from the carry and the iteration's slices of xs.
using ScanBody = std::function<ScanResult(const Values& carry, const Values& xs)>;

struct ScanOptions {
  /// Iterations run from the last slice to the first.
  bool reverse = false;
  /// Iterations unrolled into one pass of the loop, as in jax.lax.scan; at least 1. The ops stay
  /// the same, but a compiler may fuse them otherwise and change last bits. More iterations compile
  /// more slowly and may run faster. With `length` or more, nothing is left of the loop.
  int64_t unroll = 1;
  /// A remat policy may keep values of the body, stacked over the iterations. False: it may keep
  /// the results of the loop alone.
  bool may_keep_values = true;
  /// Names of the carried tensors, for errors. Empty: their numbers.
  std::vector<std::string> names = {};
};

/// carry_{i+1}, ys[i] = body(carry_i, xs[i]) for 0 <= i < length. The leading dim of every tensor
/// of xs is `length`. The body may use outer tensors. Throws ShapeError if the types of the carry
/// change; the error names each tensor whose type does.
ScanResult scan(const ScanBody& body, const Values& init, const Values& xs, int64_t length,
                const ScanOptions& options = {});

}  // namespace axle
