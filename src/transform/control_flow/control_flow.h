// Loops and branches: cond, scan, while_loop, maps over rows, and prefix scans.
//
// Outer tensors: tensors that a function captures, besides its arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "transform/trace.h"

namespace axle {

// Branches: a program that computes one of several functions.

/// Computes branches[index](arguments). `index` is an i32 scalar; one outside of the branches is
/// clamped. All branches return tensors of the same types. They may use outer tensors.
///
/// When it is differentiated, each branch keeps its own residuals. Under vmap with a batched index,
/// all branches are computed and the results selected.
/// Throws ShapeError if there is no branch, or if the types of their results differ.
Values switch_case(const Tensor& index, const std::vector<TensorFunction>& branches,
                   const Values& arguments);

/// Computes if_true(arguments) or if_false(arguments). `predicate` is a pred scalar.
Values cond(const Tensor& predicate, const TensorFunction& if_true, const TensorFunction& if_false,
            const Values& arguments);

// Differentiable loops with a fixed number of iterations.

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

// Loops with a condition, and loops over numbers.

/// Computes a pred scalar from the carry.
using WhileCondition = std::function<Tensor(const Values& carry)>;
/// Computes the next carry.
using WhileBody = std::function<Values(const Values& carry)>;

/// carry = body(carry) as long as condition(carry); returns the last carry. Both functions may use
/// outer tensors. Under vmap the loop runs as long as any example does.
///
/// Has forward mode (jvp): the condition decides by the carry alone, as it does without tangents.
/// Has no reverse mode, which would have to keep values of all iterations: use scan, fori_loop or
/// bounded_while. Throws ShapeError if the types of the carry change, or if the condition is no
/// pred scalar.
Values while_loop(const WhileCondition& condition, const WhileBody& body, const Values& init);

/// Like while_loop, but at most `max_steps` iterations. It can be differentiated. It always costs
/// max_steps iterations; iterations after the condition fails leave the carry unchanged.
Values bounded_while(const WhileCondition& condition, const WhileBody& body, const Values& init,
                     int64_t max_steps);

/// carry = body(i, carry) for i = begin .. end-1, as i32 scalars. It can be differentiated.
Values fori_loop(int64_t begin, int64_t end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init);
/// The same with bounds that are i32 scalars. Has forward mode only, as while_loop.
Values fori_loop(const Tensor& begin, const Tensor& end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init);

// A function applied to one slice after the other, for batches that do not fit in memory at once.

struct SequentialMapOptions {
  /// Number of slices that are computed together, by vmap.
  int64_t batch_size = 1;
};

/// Computes fn for each slice of xs along dim 0, and stacks the outputs along dim 0. All tensors of
/// xs have the same dim 0. The values are those of vmap; the memory is that of one batch. `fn` may
/// use outer tensors. Gradients go through it as through scan.
///
/// Throws ShapeError if xs is empty or its leading dims differ, or if batch_size is below 1.
Values sequential_map(const TensorFunction& fn, const Values& xs,
                      const SequentialMapOptions& options = {});

// Prefix results of an associative operation, in logarithmic depth.
//
// Source: Blelloch 1990, Prefix sums and their applications, section 1.3.

/// Combines results of earlier elements with results of later ones, element by element. Must be
/// associative.
using AssociativeCombine = std::function<Values(const Values& earlier, const Values& later)>;

/// Returns y with y[.., t, ..] = x[.., 0, ..] * ... * x[.., t, ..] along `axis`, where * is
/// `combine`. All tensors of x have the same size along the axis. The number of calls of `combine`
/// is twice the logarithm of that size. Throws ShapeError for other sizes and for a `combine` that
/// does not return the types of its first argument.
Values associative_scan(const AssociativeCombine& combine, const Values& x, int64_t axis);

}  // namespace axle
