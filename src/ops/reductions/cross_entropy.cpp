#include "ops/reductions/cross_entropy.h"

#include <fmt/format.h>

#include "ir/op_rules.h"
#include "ops/batching.h"
#include "ops/composite.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle {
namespace {

std::vector<Type> infer_cross_entropy(const OpNode& op) {
  const Type &logits = op.inputs[0].type(), &labels = op.inputs[1].type();
  Shape rows = logits.dims;
  if (rows.empty() || !is_float(logits.dtype))
    shape_error(op, "expected floating-point logits [..., V]");
  rows.pop_back();
  if (labels.dims != rows || !is_integer(labels.dtype) || is_storage_only(labels.dtype))
    shape_error(op,
                fmt::format("expected integer labels of 8 bits or more with the shape {} of the "
                            "logits without their last dim, got {}",
                            to_text(rows), to_text(labels)));
  const Type row{wide_dtype(logits.dtype), rows};
  return {row, row};
}

// The forward pass gathers the label's logit, and the vjp adds the label's gradient at its index.
// Comparing every class with the label instead would be a pass over all logits, recomputed for each
// product that reads the gradient.
Values formula(const OpNode&, const Values& x) {
  const Tensor &logits = x[0], &labels = x[1];
  const Tensor top = wide(reduce_max(logits, {-1}, true));
  const Tensor log_z = log(reduce_sum(exp(wide(logits) - top), {-1})) + squeeze(top, {-1});
  const Tensor at_label = wide(squeeze(take_along_axis(logits, expand_dims(labels, -1)), {-1}));
  const Tensor is_class = (labels >= 0) & (labels < static_cast<double>(logits.dim(-1)));
  return {log_z - select(is_class, at_label, 0), log_z};
}

// d loss = softmax - onehot, d log_z = softmax.
Values vjp(X x, Y y, Ct g) {
  const Tensor &logits = x[0], &labels = x[1];
  const Tensor probs = exp(wide(logits) - expand_dims(y[1], -1)) * expand_dims(g[0] + g[1], -1);
  const Tensor onehot_part = astype(expand_dims(-g[0], -1), logits.dtype());
  return {add_along_axis(astype(probs, logits.dtype()), expand_dims(labels, -1), onehot_part),
          Tensor()};
}

const OpRules cross_entropy_rules({.name = "softmax_cross_entropy",
                                   .infer = infer_cross_entropy,
                                   .batch = trailing_dims,
                                   .vjp = vjp,
                                   .eval = eval_composite<formula>,
                                   .hlo = hlo_composite<formula>,
                                   .cost = [](const OpNode& op) {
                                     return 12.0 *
                                            static_cast<double>(op.inputs[0].type().num_elements());
                                   }});

}  // namespace

CrossEntropy softmax_cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Values results = emit_all(cross_entropy_rules, {logits, labels});
  return {results[0], results[1]};
}

}  // namespace axle
