#include "ops/collectives/all_gather.h"

#include <fmt/format.h>

#include "ir/devices/manual_axes.h"
#include "ops/batching.h"
#include "ops/collectives/along_dim.h"
#include "ops/collectives/reduce_scatter.h"
#include "ops/rules.h"

namespace axle {
namespace {

const OpRules all_gather_rules(
    {.name = "all_gather",
     .infer =
         [](const OpNode& op) {
           const auto& a = op.attrs<AlongDim>();
           return std::vector<Type>{scaled(op.inputs[0].type(), a.dim, a.group_size())};
         },
     .batch = batch_along_dim,
     .vjp =
         [](X x, Y, Ct g) {
           const auto& a = x.attrs<AlongDim>();
           return Values{reduce_scatter_over(g[0], a.axes, a.dim)};
         },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const std::vector<HostTensor> all = of_group(op, *x[0]);
           for (size_t i = 0; i < all.size(); ++i)
             put_part(y[0], op.attrs<AlongDim>().dim, static_cast<int64_t>(i), all[i]);
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<AlongDim>();
           return HloValues{
               b.one("stablehlo.all_gather", x, op.outputs[0],
                     fmt::format("all_gather_dim = {} : i64, {}", a.dim, mlir_groups(b, a.axes)))};
         },
     .cost = kNoFlops});

}  // namespace

Tensor all_gather_over(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim) {
  return axes.empty() ? x : emit(all_gather_rules, {x}, AlongDim(axes, dim));
}

Tensor all_gather(const Tensor& x, const DimAxes& axes, int64_t dim) {
  dim = normalized_axis("all_gather", x, dim);
  return all_gather_over(x, ManualAxes::named("all_gather", axes, {x}), dim);
}

}  // namespace axle
