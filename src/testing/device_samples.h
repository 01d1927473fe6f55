// shard_maps with several operands, within each other and with other ops that have a body, over the
// mesh of collective_samples.h.
#pragma once

#include "testing/body_samples.h"
#include "testing/collective_samples.h"

namespace axle::testing {

/// Returns samples of shard_map, of body_inputs().
inline std::vector<OpSample> device_samples() {
  const PartitionSpec whole, by_model{{"model"}}, by_data{{"data"}},
      by_both{{DimAxes{"data", "model"}}}, columns{{kReplicated, "data", "model"}},
      second_by_data{{kReplicated, "data"}}, second_by_model{{kReplicated, "model"}},
      third_by_model{{kReplicated, kReplicated, "model"}};
  // h[4] over model, w[4, 4] over data and model: tanh(w h), of which each device has its part.
  const auto divided_layer = [](const Tensor& h, const Tensor& w) {
    const Tensor rows = all_gather(dot(w, h), {"data"}, 0);  // the terms of this device
    return tanh(reduce_scatter(rows, {"model"}, 0));
  };
  const auto loop = [=](const Values& v) {
    return shard_map(
        [=](const Values& p) {
          const auto step = [&](const Values& c, const Values& w) {
            const Tensor h = divided_layer(c[0], w[0]);
            return ScanResult{{h}, {psum(sum(h), {"model"})}};
          };
          const ScanResult r = scan(step, {p[0]}, {p[1]}, 3);
          return Values{r.carry[0], r.ys[0]};
        },
        {v[0], v[1]}, over({by_model, columns}, {by_model, whole}));
  };
  const auto in_loop = [=](const Values& v) {
    const auto step = [=](const Values& c, const Values& w) {
      const auto body = [](const Values& p) {
        return Values{sin(psum(dot(p[0], p[1]), {"model"}))};
      };
      return ScanResult{shard_map(body, {c[0], w[0]}, over({by_model, by_model}, {whole})), {}};
    };
    return scan(step, {v[0]}, {v[1]}, 3, {.reverse = true}).carry;
  };
  // Every device takes the same branch.
  const auto branches = [=](const Values& v) {
    const auto body = [](const Values& p) {
      return switch_case(p[2],
                         {[](const Values& a) { return Values{psum(a[0], {"model"}) * a[0]}; },
                          [&](const Values& a) {
                            const DevicePairs around = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
                            const Tensor w = psum(reduce_sum(a[1], {0, 1}), {"data"});
                            return Values{ppermute(sin(a[0]) * w, {"model"}, around)};
                          }},
                         {p[0], p[1]});
    };
    return shard_map(body, v, over({by_model, columns, whole}, {by_model}));
  };
  const auto in_branches = [=](const Values& v) {
    const auto on_devices = [=](const Values& a) {
      const auto body = [](const Values& p) {
        return Values{all_to_all(tanh(p[0]), {"model"}, 2, 1)};
      };
      const Values moved = shard_map(body, {a[1]}, over({second_by_model}, {third_by_model}));
      return Values{reduce_sum(moved[0], {0, 1})};
    };
    return switch_case(v[2], {[](const Values& a) { return Values{a[0] * 2}; }, on_devices},
                       {v[0], v[1]});
  };
  const auto nested = [=](const Values& v) {
    const auto inner = [](const Values& p) {
      const Tensor place = astype(axis_index({"model", "data"}), p[0].dtype());
      return Values{psum(sin(p[0]) * (place + 1), {"data", "model"}), pmax(p[0], {"data"})};
    };
    const auto outer = [=](const Values& p) {
      const Tensor w = reduce_sum(p[1], {0, 2});
      Values out =
          shard_map(inner, {w * reduce_sum(p[0], {0})}, over({whole}, {whole, whole}, {"model"}));
      return Values{out[0], all_gather(out[1], {"data"}, 0)};
    };
    return shard_map(outer, {v[0], v[1]}, over({whole, second_by_data}, {whole, whole}, {"data"}));
  };
  const auto with_rule = [=](const Values& v) {
    const CustomVjp rule{
        .name = "sum over devices",
        .forward =
            [](const Values& x) {
              return WithResiduals{{psum(sin(x[0]), {"model"})}, {x[0]}};
            },
        .backward = [](const Values& saved,
                       const Values& g) { return Values{psum(g[0], {"model"}) * cos(saved[0])}; }};
    const auto body = [=](const Values& p) {
      const auto fn = [&](const Values& a) {
        return custom_vjp(rule, {a[0] * reduce_sum(a[1], {0, 1})});
      };
      return remat(fn, {p[0], p[1]}, save_nothing());
    };
    return shard_map(body, {v[0], v[1]}, over({by_model, columns}, {by_data}));
  };
  const auto batch_within = [=](const Values& v) {
    const auto body = [](const Values& p) {
      return vmap([](const Values& a) { return Values{pmean(a[0] * sin(a[1]), {"model"})}; },
                  {p[1], p[0]}, {.in_axes = {0, std::nullopt}});
    };
    return shard_map(body, {v[0], v[1]}, over({by_model, columns}, {second_by_data}));
  };
  // Only one axis is manual; an outer tensor comes whole.
  const auto partial = [=](const Values& v) {
    const Tensor outer = cos(v[0]);
    const auto body = [&](const Values& p) {
      return Values{dot(p[0], outer), psum(p[0] * sum(outer), {"model"})};
    };
    return shard_map(body, {v[1]}, over({second_by_model}, {second_by_model, whole}, {"model"}));
  };
  const std::vector<HostTensor> inputs = body_inputs();
  std::vector<OpSample> out;
  for (const TensorFunction& fn :
       {TensorFunction(loop), TensorFunction(in_loop), TensorFunction(branches),
        TensorFunction(in_branches), TensorFunction(nested), TensorFunction(with_rule),
        TensorFunction(batch_within), TensorFunction(partial)})
    out.push_back({"shard_map", inputs, fn});
  return out;
}

}  // namespace axle::testing
