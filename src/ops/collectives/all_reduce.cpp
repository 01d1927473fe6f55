#include "ops/collectives/all_reduce.h"

#include "ir/devices/manual_axes.h"
#include "ops/batching.h"
#include "ops/collectives/collective.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/reductions/combine.h"
#include "ops/reductions/reduce.h"
#include "ops/stablehlo.h"

namespace axle {
namespace {

// Returns the eval rule that combines the tensors of a group, in their order.
template <class F>
EvalRule reduced_over_devices(F combine) {
  return [combine](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                   std::span<HostTensor> y) {
    const std::vector<HostTensor> all = of_group(op, *x[0]);
    y[0] = all[0];
    for (size_t i = 1; i < all.size(); ++i) {
      const HostTensor sum = y[0];
      detail::map_binary(sum, all[i], y[0], combine);
    }
  };
}

template <class Combine>
HloValues lower_all_reduce(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return {b.one("stablehlo.all_reduce", x, op.outputs[0],
                mlir_groups(b, op.attrs<CollectiveAttributes>().axes),
                {hlo_combiner(b, Combine::kHlo, x[0].type.dtype)})};
}

// In a shard_map the cotangent of a replicated result is divided among the devices, so that the
// transpose of a sum over them is the sum of the cotangents.
Tensor sum_over_devices(const Tensor& x, const std::vector<MeshAxis>& axes);

Values all_reduce_extremum_vjp(X x, Y y, Ct g) {
  const auto& axes = x.attrs<CollectiveAttributes>().axes;
  const Tensor chosen = astype(equal(x[0], y[0]), g[0].dtype());
  return {chosen * (sum_over_devices(g[0], axes) / sum_over_devices(chosen, axes))};
}

const OpRules psum_rules({.name = "psum",
                          .infer = same_type_real_or_complex,
                          .batch = elementwise,
                          .vjp =
                              [](X x, Y, Ct g) {
                                return Values{
                                    sum_over_devices(g[0], x.attrs<CollectiveAttributes>().axes)};
                              },
                          .eval = reduced_over_devices(Add()),
                          .hlo = lower_all_reduce<Add>,
                          .cost = kElementwise});

const OpRules pmax_rules({.name = "pmax",
                          .infer = same_type_numbers,
                          .batch = elementwise,
                          .vjp = all_reduce_extremum_vjp,
                          .eval = reduced_over_devices(Larger()),
                          .hlo = lower_all_reduce<Larger>,
                          .cost = kElementwise});

const OpRules pmin_rules({.name = "pmin",
                          .infer = same_type_numbers,
                          .batch = elementwise,
                          .vjp = all_reduce_extremum_vjp,
                          .eval = reduced_over_devices(Smaller()),
                          .hlo = lower_all_reduce<Smaller>,
                          .cost = kElementwise});

Tensor sum_over_devices(const Tensor& x, const std::vector<MeshAxis>& axes) {
  return emit(psum_rules, {x}, CollectiveAttributes(axes));
}

Tensor over_devices(const OpRules& rules, const Tensor& x, const DimAxes& names) {
  const std::vector<MeshAxis> axes = ManualAxes::named(rules.name(), names, {x});
  return axes.empty() ? x : emit(rules, {x}, CollectiveAttributes(axes));
}

}  // namespace

Tensor psum(const Tensor& x, const DimAxes& axes) { return over_devices(psum_rules, x, axes); }
Tensor pmax(const Tensor& x, const DimAxes& axes) { return over_devices(pmax_rules, x, axes); }
Tensor pmin(const Tensor& x, const DimAxes& axes) { return over_devices(pmin_rules, x, axes); }
Tensor pmean(const Tensor& x, const DimAxes& names) {
  const std::vector<MeshAxis> axes = ManualAxes::named("pmean", names, {x});
  // The mean over no axes is the number as a float. Integers are summed before, as in JAX.
  const auto as_float = [](const Tensor& n) {
    return is_differentiable(n.dtype()) ? n : mean(n, {});
  };
  if (axes.empty()) return as_float(x);
  const Tensor total = sum_over_devices(is_integer(x.dtype()) ? x : as_float(x), axes);
  return as_float(total) / CollectiveAttributes(axes).group_size();
}

Tensor axis_index(const DimAxes& axes) {
  Tensor out = scalar(0, DType::kI32);
  for (const MeshAxis& axis : ManualAxes::named("axis_index", axes))
    out = out * axis.size + reshape(ManualAxes::index(axis), {});
  return out;
}

int64_t axis_size(const DimAxes& axes) {
  return CollectiveAttributes(ManualAxes::named("axis_size", axes)).group_size();
}

}  // namespace axle
