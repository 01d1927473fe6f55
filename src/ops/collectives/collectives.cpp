#include "ops/collectives/collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/devices/sharding.h"
#include "ops/collectives/collective.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/combine.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

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
                          .eval = reduced_over_devices(combine::Add()),
                          .hlo = lower_all_reduce<combine::Add>,
                          .cost = kElementwise});

const OpRules pmax_rules({.name = "pmax",
                          .infer = same_type_numbers,
                          .batch = elementwise,
                          .vjp = all_reduce_extremum_vjp,
                          .eval = reduced_over_devices(combine::Larger()),
                          .hlo = lower_all_reduce<combine::Larger>,
                          .cost = kElementwise});

const OpRules pmin_rules({.name = "pmin",
                          .infer = same_type_numbers,
                          .batch = elementwise,
                          .vjp = all_reduce_extremum_vjp,
                          .eval = reduced_over_devices(combine::Smaller()),
                          .hlo = lower_all_reduce<combine::Smaller>,
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

namespace {

struct PairsAttributes : CollectiveAttributes {
  PairsAttributes(std::vector<MeshAxis> a, DevicePairs p)
      : CollectiveAttributes(std::move(a)), pairs(std::move(p)) {}
  DevicePairs pairs;
  std::string text() const override {
    return fmt::format("{}, pairs = {}", CollectiveAttributes::text(), pairs);
  }
};

Tensor permuted(const Tensor& x, const std::vector<MeshAxis>& axes, DevicePairs pairs);

const OpRules ppermute_rules(
    {.name = "ppermute",
     .infer = [](const OpNode& op) { return std::vector<Type>{op.inputs[0].type()}; },
     .batch = elementwise,
     .vjp =
         [](X x, Y, Ct g) {
           const auto& a = x.attrs<PairsAttributes>();
           DevicePairs back;
           for (const auto& [from, to] : a.pairs) back.emplace_back(to, from);
           return Values{permuted(g[0], a.axes, std::move(back))};
         },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const std::vector<HostTensor> all = of_group(op, *x[0]);
           for (const auto& [from, to] : op.attrs<PairsAttributes>().pairs) {
             if (to == rank_in_group(op)) y[0] = all[from];
           }
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<PairsAttributes>();
           std::vector<std::vector<int64_t>> pairs;  // by the positions of devices in the mesh
           for (const auto& group : device_groups(a.axes, b.mesh())) {
             for (const auto& [from, to] : a.pairs) {
               pairs.push_back({group[from], group[to]});
             }
           }
           return HloValues{b.one(
               "stablehlo.collective_permute", x, op.outputs[0],
               fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>, "
                           "source_target_pairs = dense<{}> : tensor<{}x2xi64>",
                           b.next_channel(), pairs, pairs.size()))};
         },
     .cost = kNoFlops});

Tensor permuted(const Tensor& x, const std::vector<MeshAxis>& axes, DevicePairs pairs) {
  return emit(ppermute_rules, {x}, PairsAttributes(axes, std::move(pairs)));
}

}  // namespace

Tensor ppermute(const Tensor& x, const DimAxes& names, const DevicePairs& pairs) {
  const auto axes = ManualAxes::named("ppermute", names, {x});
  const int64_t size = CollectiveAttributes(axes).group_size();
  for (const auto member :
       {&std::pair<int64_t, int64_t>::first, &std::pair<int64_t, int64_t>::second}) {
    std::vector<int64_t> devices;
    for (const auto& pair : pairs) devices.push_back(pair.*member);
    std::ranges::sort(devices);
    const bool fits = devices.empty() || (devices.front() >= 0 && devices.back() < size);
    if (!fits || std::ranges::adjacent_find(devices) != devices.end()) {
      shape_error("ppermute",
                  fmt::format("expected pairs of different devices below {}, got {}", size, pairs),
                  {x});
    }
  }
  if (!axes.empty()) return permuted(x, axes, pairs);
  return pairs.empty() ? zeros_like(x) : x;
}

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
             detail::map_binary(sum, own(all[i]), y[0], combine::Add());
           }
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<AlongDim>();
           return HloValues{
               b.one("stablehlo.reduce_scatter", x, op.outputs[0],
                     fmt::format("{}, scatter_dimension = {} : i64", mlir_groups(b, a.axes), a.dim),
                     {hlo_combiner(b, combine::Add::kHlo, x[0].type.dtype)})};
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
