#include "ops/collectives/all_to_all.h"

#include <fmt/format.h>

#include "ir/devices/manual_axes.h"
#include "ops/batching.h"
#include "ops/collectives/along_dim.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct SplitAndConcat : CollectiveAttributes {
  SplitAndConcat(std::vector<MeshAxis> a, int64_t s, int64_t c)
      : CollectiveAttributes(std::move(a)), split_dim(s), concat_dim(c) {}
  int64_t split_dim, concat_dim;
  std::string text() const override {
    return fmt::format("{}, split_dim = {}, concat_dim = {}", CollectiveAttributes::text(),
                       split_dim, concat_dim);
  }
};

Tensor exchanged(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t split, int64_t concat);

const OpRules all_to_all_rules(
    {.name = "all_to_all",
     .infer =
         [](const OpNode& op) {
           const auto& a = op.attrs<SplitAndConcat>();
           check_divides(op, a.split_dim);
           const Type part = scaled(op.inputs[0].type(), a.split_dim, 1, a.group_size());
           return std::vector<Type>{scaled(part, a.concat_dim, a.group_size())};
         },
     .batch =
         [](BatchX x) {
           const auto& a = x.attrs<SplitAndConcat>();
           return emit_batched(x, SplitAndConcat(a.axes, a.split_dim + 1, a.concat_dim + 1));
         },
     .vjp =
         [](X x, Y, Ct g) {
           const auto& a = x.attrs<SplitAndConcat>();
           return Values{exchanged(g[0], a.axes, a.concat_dim, a.split_dim)};
         },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const auto& a = op.attrs<SplitAndConcat>();
           const std::vector<HostTensor> all = of_group(op, *x[0]);
           for (size_t i = 0; i < all.size(); ++i) {
             put_part(y[0], a.concat_dim, static_cast<int64_t>(i),
                      part_along(all[i], a.split_dim, rank_in_group(op), a.group_size()));
           }
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<SplitAndConcat>();
           return HloValues{
               b.one("stablehlo.all_to_all", x, op.outputs[0],
                     fmt::format("concat_dimension = {} : i64, split_count = {} : i64, "
                                 "split_dimension = {} : i64, {}",
                                 a.concat_dim, a.group_size(), a.split_dim,
                                 mlir_groups_of_partitions(b, a.axes)))};
         },
     .cost = kNoFlops});

Tensor exchanged(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t split,
                 int64_t concat) {
  return emit(all_to_all_rules, {x}, SplitAndConcat(axes, split, concat));
}

}  // namespace

Tensor all_to_all(const Tensor& x, const DimAxes& names, int64_t split_dim, int64_t concat_dim) {
  split_dim = normalized_axis("all_to_all", x, split_dim);
  concat_dim = normalized_axis("all_to_all", x, concat_dim);
  const auto axes = ManualAxes::named("all_to_all", names, {x});
  return axes.empty() ? x : exchanged(x, axes, split_dim, concat_dim);
}

}  // namespace axle
