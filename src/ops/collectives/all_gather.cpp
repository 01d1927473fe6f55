#include "ops/collectives/all_gather.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/devices/manual_axes.h"
#include "ir/devices/sharding.h"
#include "ir/devices/simulated_devices.h"
#include "ops/batching.h"
#include "ops/collectives/collective.h"
#include "ops/create.h"
#include "ops/rules.h"

namespace axle {
namespace {

// Attributes of a collective along one dim of its operand.
struct AlongDim : CollectiveAttributes {
  AlongDim(std::vector<MeshAxis> a, int64_t d) : CollectiveAttributes(std::move(a)), dim(d) {}
  int64_t dim;
  std::string text() const override {
    return fmt::format("{}, dim = {}", CollectiveAttributes::text(), dim);
  }
};

struct SplitAndConcat : CollectiveAttributes {
  SplitAndConcat(std::vector<MeshAxis> a, int64_t s, int64_t c)
      : CollectiveAttributes(std::move(a)), split_dim(s), concat_dim(c) {}
  int64_t split_dim, concat_dim;
  std::string text() const override {
    return fmt::format("{}, split_dim = {}, concat_dim = {}", CollectiveAttributes::text(),
                       split_dim, concat_dim);
  }
};

struct PairsAttributes : CollectiveAttributes {
  PairsAttributes(std::vector<MeshAxis> a, DevicePairs p)
      : CollectiveAttributes(std::move(a)), pairs(std::move(p)) {}
  DevicePairs pairs;
  std::string text() const override {
    return fmt::format("{}, pairs = {}", CollectiveAttributes::text(), pairs);
  }
};

void check_divides(const OpNode& op, int64_t dim) {
  const int64_t size = op.attrs<CollectiveAttributes>().group_size();
  if (op.inputs[0].dim(dim) % size != 0) {
    shape_error(op, fmt::format("expected a dim {} that {} devices divide, got {}", dim, size,
                                op.inputs[0].dim(dim)));
  }
}

// Returns the type with dim `dim` multiplied, or divided.
Type scaled(Type type, int64_t dim, int64_t factor, int64_t divisor = 1) {
  int64_t& size = type.dims[static_cast<size_t>(dim)];
  size = size * factor / divisor;
  return type;
}

// Part i of n of x along `dim`.
HostTensor part_of(const HostTensor& x, int64_t dim, int64_t i, int64_t n) {
  Slice slice{Shape(x.shape().size(), 0), x.shape()};
  int64_t& size = slice.size[static_cast<size_t>(dim)];
  size /= n;
  slice.start[static_cast<size_t>(dim)] = i * size;
  return extract(x, slice);
}

void put_part(HostTensor& whole, int64_t dim, int64_t i, const HostTensor& part) {
  Slice slice{Shape(part.shape().size(), 0), part.shape()};
  slice.start[static_cast<size_t>(dim)] = i * part.shape()[static_cast<size_t>(dim)];
  insert(whole, slice, part);
}

std::vector<HostTensor> of_group(const OpNode& op, const HostTensor& own) {
  return SimulatedDevice::current().all_of(op, op.attrs<CollectiveAttributes>().axes, own);
}
int64_t rank_in_group(const OpNode& op) {
  return SimulatedDevice::current().rank(op.attrs<CollectiveAttributes>().axes);
}

std::vector<Batched> batch_along_dim(BatchX x) {
  const auto& a = x.attrs<AlongDim>();
  return emit_batched(x, AlongDim(a.axes, a.dim + 1));
}

Tensor gathered(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim);
Tensor scattered(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim);
Tensor exchanged(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t split, int64_t concat);
Tensor permuted(const Tensor& x, const std::vector<MeshAxis>& axes, DevicePairs pairs);

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
           return Values{scattered(g[0], a.axes, a.dim)};
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
           return Values{gathered(g[0], a.axes, a.dim)};
         },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const auto& a = op.attrs<AlongDim>();
           const std::vector<HostTensor> all = of_group(op, *x[0]);
           const auto own = [&](const HostTensor& t) {
             return part_of(t, a.dim, rank_in_group(op), a.group_size());
           };
           y[0] = own(all[0]);
           for (size_t i = 1; i < all.size(); ++i) {
             const HostTensor sum = y[0];
             detail::map_binary(sum, own(all[i]), y[0], []<detail::RealOrComplex T>(T p, T q) {
               return detail::wrapping(p, q, [](auto v, auto w) { return v + w; });
             });
           }
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<AlongDim>();
           const Type element{x[0].type.dtype, {}};
           const HloRegion sum{{element, element}, [&](const HloValues& v) {
                                 return HloValues{b.one("stablehlo.add", v, element)};
                               }};
           return HloValues{
               b.one("stablehlo.reduce_scatter", x, op.outputs[0],
                     fmt::format("{}, scatter_dimension = {} : i64", mlir_groups(b, a.axes), a.dim),
                     {sum})};
         },
     .cost = num_input_elements});

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
                      part_of(all[i], a.split_dim, rank_in_group(op), a.group_size()));
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
             if (to == rank_in_group(op)) y[0] = all[static_cast<size_t>(from)];
           }
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<PairsAttributes>();
           std::vector<std::vector<int64_t>> pairs;  // by the positions of devices in the mesh
           for (const auto& group : device_groups(a.axes, b.mesh())) {
             for (const auto& [from, to] : a.pairs) {
               pairs.push_back({group[static_cast<size_t>(from)], group[static_cast<size_t>(to)]});
             }
           }
           return HloValues{b.one(
               "stablehlo.collective_permute", x, op.outputs[0],
               fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>, "
                           "source_target_pairs = dense<{}> : tensor<{}x2xi64>",
                           b.next_channel(), pairs, pairs.size()))};
         },
     .cost = kNoFlops});

Tensor gathered(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim) {
  return emit(all_gather_rules, {x}, AlongDim(axes, dim));
}
Tensor scattered(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim) {
  return emit(reduce_scatter_rules, {x}, AlongDim(axes, dim));
}
Tensor exchanged(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t split,
                 int64_t concat) {
  return emit(all_to_all_rules, {x}, SplitAndConcat(axes, split, concat));
}
Tensor permuted(const Tensor& x, const std::vector<MeshAxis>& axes, DevicePairs pairs) {
  return emit(ppermute_rules, {x}, PairsAttributes(axes, std::move(pairs)));
}

}  // namespace

Tensor all_gather(const Tensor& x, const DimAxes& names, int64_t dim) {
  dim = normalized_axis("all_gather", x, dim);
  const auto axes = ManualAxes::named("all_gather", names);
  return axes.empty() ? x : gathered(x, axes, dim);
}

Tensor reduce_scatter(const Tensor& x, const DimAxes& names, int64_t dim) {
  dim = normalized_axis("reduce_scatter", x, dim);
  const auto axes = ManualAxes::named("reduce_scatter", names);
  return axes.empty() ? x : scattered(x, axes, dim);
}

Tensor all_to_all(const Tensor& x, const DimAxes& names, int64_t split_dim, int64_t concat_dim) {
  split_dim = normalized_axis("all_to_all", x, split_dim);
  concat_dim = normalized_axis("all_to_all", x, concat_dim);
  const auto axes = ManualAxes::named("all_to_all", names);
  return axes.empty() ? x : exchanged(x, axes, split_dim, concat_dim);
}

Tensor ppermute(const Tensor& x, const DimAxes& names, const DevicePairs& pairs) {
  const auto axes = ManualAxes::named("ppermute", names);
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

}  // namespace axle
