#include "ops/collectives/ppermute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/devices/manual_axes.h"
#include "ops/batching.h"
#include "ops/collectives/collective.h"
#include "ops/create.h"
#include "ops/rules.h"

namespace axle {
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

}  // namespace axle
