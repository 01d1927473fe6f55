#include <fmt/format.h>

#include "ir/op_rules.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

// Cost of max, subtract, exp, sum and divide.
constexpr CostRule kSoftmaxCost{12};

int64_t axis_of(const OpNode& op) { return op.attrs<AxisAttributes>().axis; }

struct SoftmaxAttributes : AxisAttributes {
  SoftmaxAttributes(int64_t a, DType d) : AxisAttributes(a), dtype(d) {}
  DType dtype;
  std::string text() const override {
    return AxisAttributes::text() + ", result_dtype = " + to_text(dtype);
  }
};

Values softmax_formula(const OpNode& op, const Values& in) {
  const Tensor x = wide(in[0]);
  const int64_t axis = axis_of(op);
  const Tensor e = exp(x - reduce_max(x, {axis}, true));
  return {astype(e / reduce_sum(e, {axis}, true), op.outputs[0].dtype)};
}

const OpRules softmax_rules({.name = "softmax",
                             .infer =
                                 [](const OpNode& op) {
                                   Type type = same_float_type(op)[0];
                                   type.dtype = op.attrs<SoftmaxAttributes>().dtype;
                                   return std::vector<Type>{type};
                                 },
                             .batch =
                                 [](BatchX x) {
                                   const auto& a = x.attrs<SoftmaxAttributes>();
                                   return emit_batched(x, SoftmaxAttributes(a.axis + 1, a.dtype));
                                 },
                             .vjp =
                                 [](X x, Y y, Ct g) {
                                   const Tensor p = wide(y[0]), ct = wide(g[0]);
                                   return Values{astype(
                                       p * (ct - reduce_sum(ct * p, {axis_of(x.op())}, true)),
                                       x[0].dtype())};
                                 },
                             .eval = eval_composite<softmax_formula>,
                             .hlo = hlo_composite<softmax_formula>,
                             .cost = kSoftmaxCost});

Values log_softmax_formula(const OpNode& op, const Values& in) {
  const Tensor x = wide(in[0]);
  const int64_t axis = axis_of(op);
  const Tensor shifted = x - reduce_max(x, {axis}, true);
  return {astype(shifted - log(reduce_sum(exp(shifted), {axis}, true)), in[0].dtype())};
}

const OpRules log_softmax_rules(
    {.name = "log_softmax",
     .infer = same_float_type,
     .batch = along_axis,
     .vjp =
         [](X x, Y y, Ct g) {
           const Tensor ct = wide(g[0]);
           return Values{astype(ct - exp(wide(y[0])) * reduce_sum(ct, {axis_of(x.op())}, true),
                                x[0].dtype())};
         },
     .eval = eval_composite<log_softmax_formula>,
     .hlo = hlo_composite<log_softmax_formula>,
     .cost = kSoftmaxCost});

// Replaces non-finite values by 0: subtracting an infinite maximum would give inf - inf = NaN.
Tensor finite_or_zero(const Tensor& x) { return select(is_finite(x), x, 0); }

Values logsumexp_formula(const OpNode& op, const Values& in) {
  const Tensor x = wide(in[0]);
  const int64_t axis = axis_of(op);
  const Tensor top = finite_or_zero(reduce_max(x, {axis}, true));
  const Tensor y = log(reduce_sum(exp(x - top), {axis}, true)) + top;
  return {astype(squeeze(y, {axis}), in[0].dtype())};
}

const OpRules logsumexp_rules(
    {.name = "logsumexp",
     .infer =
         [](const OpNode& op) {
           Type type = same_float_type(op)[0];
           type.dims.erase(type.dims.begin() + axis_of(op));
           return std::vector<Type>{type};
         },
     .batch = along_axis,
     .vjp =
         [](X x, Y y, Ct g) {
           const int64_t axis = axis_of(x.op());
           const Tensor out = expand_dims(finite_or_zero(wide(y[0])), axis);
           return Values{
               astype(expand_dims(wide(g[0]), axis) * exp(wide(x[0]) - out), x[0].dtype())};
         },
     .eval = eval_composite<logsumexp_formula>,
     .hlo = hlo_composite<logsumexp_formula>,
     .cost =
         [](const OpNode& op) {
           return 10.0 * static_cast<double>(op.inputs[0].type().num_elements());
         }});

Values logaddexp_formula(const OpNode&, const Values& in) {
  const Tensor a = wide(in[0]), b = wide(in[1]);
  const Tensor delta = a - b;
  // delta is NaN if an operand is NaN or if both are the same infinity. a + b is right in both
  // cases.
  const Tensor y = select(is_nan(delta), a + b, maximum(a, b) + log1p(exp(-abs(delta))));
  return {astype(y, in[0].dtype())};
}

Tensor below_infinity(const Tensor& x) {
  return select(equal(x, std::numeric_limits<double>::infinity()), 0, x);
}

const OpRules logaddexp_rules({.name = "logaddexp",
                               .infer = same_float_type,
                               .batch = elementwise,
                               .vjp =
                                   [](X x, Y y, Ct g) {
                                     const Tensor out = below_infinity(y[0]);
                                     return Values{g[0] * exp(below_infinity(x[0]) - out),
                                                   g[0] * exp(below_infinity(x[1]) - out)};
                                   },
                               .eval = eval_composite<logaddexp_formula>,
                               .hlo = hlo_composite<logaddexp_formula>,
                               .cost = CostRule(20)});

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis, std::optional<DType> result_dtype) {
  return emit(
      softmax_rules, {x},
      SoftmaxAttributes(normalized_axis("softmax", x, axis), result_dtype.value_or(x.dtype())));
}
Tensor log_softmax(const Tensor& x, int64_t axis) {
  return emit(log_softmax_rules, {x}, AxisAttributes(normalized_axis("log_softmax", x, axis)));
}
Tensor logsumexp(const Tensor& x, int64_t axis, bool keep_dims) {
  const int64_t dim = normalized_axis("logsumexp", x, axis);
  const Tensor y = emit(logsumexp_rules, {x}, AxisAttributes(dim));
  return keep_dims ? expand_dims(y, dim) : y;
}
Tensor logaddexp(const Tensor& a, const Tensor& b) { return emit_broadcast(logaddexp_rules, a, b); }
Tensor softplus(const Tensor& x) { return logaddexp(x, zeros_like(x)); }

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

Tensor standardize(const Tensor& x, const std::vector<int64_t>& axes, double epsilon) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor centered = wide - mean(wide, axes, true);
  return astype(centered * rsqrt(mean(square(centered), axes, true) + epsilon), x.dtype());
}

Tensor l2_normalize(const Tensor& x, const std::vector<int64_t>& axes, double epsilon) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor norm2 = reduce_sum(square(wide), axes, true);
  return astype(wide * rsqrt(maximum(norm2, epsilon)), x.dtype());
}

}  // namespace axle
