// Batching rules of op families, and helpers of the rules of single ops.
//
// A rule emits its op once more, with a leading dim for the batch. Attributes that count dims are
// shifted by one:
//   .batch = [](BatchX x) {
//     return emit_batched(x, AxisAttributes(x.attrs<AxisAttributes>().axis + 1));
//   }
#pragma once

#include <memory>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// Returns operand i with the batch dim. Repeats it along that dim if it is not batched.
Tensor with_batch_dim(BatchX x, size_t i);
/// with_batch_dim of all operands.
Values with_batch_dims(BatchX x);
/// Marks all results as batched.
std::vector<Batched> all_batched(const Values& results);
/// Emits the op of `x` over the operands with_batch_dims, with other attributes.
std::vector<Batched> emit_batched(BatchX x, std::shared_ptr<const Attributes> attributes);
template <std::derived_from<Attributes> A>
std::vector<Batched> emit_batched(BatchX x, A attributes) {
  return emit_batched(x, std::make_shared<const A>(std::move(attributes)));
}

/// Returns each axis plus one.
std::vector<int64_t> shifted(std::vector<int64_t> axes);
/// Returns the list with `first` put before it.
std::vector<int64_t> prepended(int64_t first, std::vector<int64_t> rest);

/// Returns `a` for the examples where is_chosen[batch] is true, else `b`. Both have the batch dim.
Tensor select_examples(const Tensor& is_chosen, const Tensor& a, const Tensor& b);

/// Batching rule of elementwise ops. An operand that is a scalar while another is not stays a
/// scalar if it is not batched.
std::vector<Batched> elementwise(BatchX x);
/// Batching rule of ops that work on trailing dims, whatever dims are before them.
std::vector<Batched> trailing_dims(BatchX x);
/// Batching rule of ops that pass each operand on: result i is batched if operand i is.
std::vector<Batched> each_operand(BatchX x);
/// Batching rule of ops with AxisAttributes whose operands have the same dims.
std::vector<Batched> along_axis(BatchX x);
/// For ops without operands: `.batch = no_operands`. It is never called.
inline constexpr BatchRule no_operands = [](BatchX) { return std::vector<Batched>(); };

}  // namespace axle
