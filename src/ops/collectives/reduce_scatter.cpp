#include "ops/collectives/reduce_scatter.h"

#include <fmt/format.h>

#include "ir/devices/manual_axes.h"
#include "ops/batching.h"
#include "ops/collectives/all_gather.h"
#include "ops/collectives/along_dim.h"
#include "ops/reductions/combine.h"
#include "ops/stablehlo.h"

namespace axle {
namespace {

const OpRules reduce_scatter_rules(
    {.name = "reduce_scatter",
     .infer =
         [](const OpNode& op) {
           const auto& a = op.attrs<AlongDim>();
           check_real_or_complex(op);
           check_divides(op, a.dim);
           return std::vector<Type>{scaled(op.inputs[0].type(), a.dim, 1, a.group_size())};
         },
     .batch = batch_along_dim,
     .vjp =
         [](X x, Y, Ct g) {
           const auto& a = x.attrs<AlongDim>();
           return Values{all_gather_over(g[0], a.axes, a.dim)};
         },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const auto& a = op.attrs<AlongDim>();
           const std::vector<HostTensor> all = of_group(op, *x[0]);
           const auto own = [&](const HostTensor& t) {
             return part_along(t, a.dim, rank_in_group(op), a.group_size());
           };
           y[0] = own(all[0]);
           for (size_t i = 1; i < all.size(); ++i) {
             const HostTensor sum = y[0];
             detail::map_binary(sum, own(all[i]), y[0], Add());
           }
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<AlongDim>();
           return HloValues{
               b.one("stablehlo.reduce_scatter", x, op.outputs[0],
                     fmt::format("{}, scatter_dimension = {} : i64", mlir_groups(b, a.axes), a.dim),
                     {hlo_combiner(b, Add::kHlo, x[0].type.dtype)})};
         },
     .cost = num_input_elements});

}  // namespace

Tensor reduce_scatter_over(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim) {
  return axes.empty() ? x : emit(reduce_scatter_rules, {x}, AlongDim(axes, dim));
}

Tensor reduce_scatter(const Tensor& x, const DimAxes& axes, int64_t dim) {
  dim = normalized_axis("reduce_scatter", x, dim);
  return reduce_scatter_over(x, ManualAxes::named("reduce_scatter", axes, {x}), dim);
}

}  // namespace axle
