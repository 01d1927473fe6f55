#include "ops/cross_entropy.h"

#include "ops/arithmetic.h"
#include "ops/broadcast.h"
#include "ops/compare.h"
#include "ops/composite.h"
#include "ops/convert.h"
#include "ops/create.h"
#include "ops/exponential.h"
#include "ops/reduce.h"
#include "ops/rules.h"
#include "ops/shape.h"

namespace axle {
namespace {

DType wide_dtype(DType dtype) { return dtype == DType::kBF16 ? DType::kF32 : dtype; }
Tensor wide(const Tensor& x) { return astype(x, wide_dtype(x.dtype())); }

// True at each row's label.
Tensor is_label(const Tensor& logits, const Tensor& labels) {
  const Tensor classes = iota(logits.shape(), logits.rank() - 1, labels.dtype());
  return equal(classes, expand_dims(labels, -1));
}

std::vector<Type> infer(const OpNode& op) {
  const Type &logits = op.inputs[0].type(), &labels = op.inputs[1].type();
  Shape rows = logits.dims;
  if (rows.empty() || !is_float(logits.dtype)) shape_error(op, "expected floating-point logits [..., V]");
  rows.pop_back();
  if (labels.dims != rows || !is_integer(labels.dtype)) shape_error(op, "expected integer labels of the shape of the logits without the last dim");
  const Type row{wide_dtype(logits.dtype), rows};
  return {row, row};
}

Values formula(const OpNode&, const Values& x) {
  const Tensor logits = wide(x[0]);
  const Tensor top = reduce_max(logits, {-1}, true);
  const Tensor log_z = log(reduce_sum(exp(logits - top), {-1})) + squeeze(top, {-1});
  const Tensor of_label = reduce_sum(select(is_label(logits, x[1]), logits, 0), {-1});
  return {log_z - of_label, log_z};
}

// d loss = softmax - onehot, d log_z = softmax.
Values vjp(X x, Y y, Ct g) {
  const Tensor probs = exp(wide(x[0]) - expand_dims(y[1], -1));
  const Tensor of_loss = expand_dims(g[0], -1), of_both = expand_dims(g[0] + g[1], -1);
  const Tensor label = select(is_label(x[0], x[1]), broadcast_to(of_loss, x[0].shape()), 0);
  return {astype(probs * of_both - label, x[0].dtype()), Tensor()};
}

const OpRules cross_entropy_rules({.name = "softmax_cross_entropy", .infer = infer, .vjp = vjp,
    .eval = eval_composite<formula>, .hlo = hlo_composite<formula>,
    .cost = [](const OpNode& op) { return 12.0 * static_cast<double>(op.inputs[0].type().num_elements()); }});

}  // namespace

CrossEntropy softmax_cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Values results = emit_all(cross_entropy_rules, {logits, labels});
  return {results[0], results[1]};
}

}  // namespace axle
