// Calls of the ops with a body, with inputs, for the law that every runtime returns the same.
#pragma once

#include "testing/op_samples.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/kernel/kernels.h"
#include "transform/remat/remat.h"
#include "transform/vmap.h"

namespace axle::testing {

/// The inputs of samples of ops with a body: f32[4], f32[3, 4, 4] and an index.
inline std::vector<HostTensor> body_inputs() {
  return {samples::uniform({4}, -1, 1, 2), samples::uniform({3, 4, 4}, -1, 1, 3),
          HostTensor::scalar(int32_t{1})};
}
/// A layer: f32[4], f32[4, 4] -> f32[4].
inline Values body_layer(const Values& v) { return Values{name(tanh(dot(v[0], v[1])), "hidden")}; }

/// Returns samples of ops with a body within bodies of others, of body_inputs().
inline std::vector<OpSample> nested_body_samples() {
  // x after the steps of a loop over the layers of v[1].
  const auto over_layers = [](const Values& v, auto step) {
    return scan(
               [&](const Values& c, const Values& w) {
                 return ScanResult{step(c[0], w[0]), {}};
               },
               {v[0]}, {v[1]}, 3)
        .carry;
  };
  const auto cond_in_scan = [=](const Values& v) {
    return over_layers(v, [&](const Tensor& x, const Tensor& w) {
      return switch_case(v[2],
                         {[](const Values& a) { return Values{sin(a[0])}; }, body_layer,
                          [](const Values& a) { return Values{a[0] * 0.5}; }},
                         {x, w});
    });
  };
  const auto scan_in_cond = [=](const Values& v) {
    return switch_case(v[2],
                       {[](const Values& a) { return Values{a[0] * 2}; },
                        [=](const Values& a) {
                          return over_layers(a, [](const Tensor& x, const Tensor& w) {
                            return body_layer({x, w});
                          });
                        }},
                       {v[0], v[1]});
  };
  const auto scan_in_scan = [=](const Values& v) {
    return over_layers(v, [](const Tensor& x, const Tensor& w) {
      return scan(
                 [](const Values& c, const Values& row) {
                   return ScanResult{{sin(c[0] + row[0] * 0.5)}, {}};
                 },
                 {x}, {w}, 4, {.reverse = true})
          .carry;
    });
  };
  const auto remat_in_call_in_remat = [=](const Values& v) {
    const auto inner = [](const Values& a) { return remat(body_layer, a, save_nothing()); };
    const auto outer = [&](const Values& a) { return call("layer", inner, {sin(a[0]), a[1]}); };
    return remat(outer, {v[0], index_in_dim(v[1], 0, 0)}, save_names({"hidden"}));
  };
  // A rule that is the derivative of what it stands for.
  const auto cube = [](const Values& x) {
    return custom_vjp(
        {.name = "cube",
         .forward =
             [](const Values& a) {
               return WithResiduals{{a[0] * a[0] * a[0]}, {a[0]}};
             },
         .backward = [](const Values& saved,
                        const Values& g) { return Values{g[0] * saved[0] * saved[0] * 3}; }},
        x);
  };
  const auto rule_in_scan = [=](const Values& v) {
    return over_layers(v, [&](const Tensor& x, const Tensor& w) {
      return cube(body_layer({x, w}));
    });
  };
  const auto vmap_in_scan = [=](const Values& v) {
    return over_layers(v, [](const Tensor& x, const Tensor& w) {
      return vmap([](const Values& a) { return Values{sin(a[0]) * sum(a[1])}; }, {x, w},
                  {.in_axes = {0, 1}});
    });
  };
  const auto kernel_in_scan_in_remat = [=](const Values& v) {
    return remat(
        [=](const Values& a) {
          return over_layers(a, [](const Tensor& x, const Tensor& w) {
            return Values{gated_silu(x, reduce_sum(w, {0}))};
          });
        },
        {v[0], v[1]}, save_dots());
  };
  const auto doubled = [](const Values& init) {
    return while_loop([](const Values& c) { return sum(abs(c[0])) < 20; },
                      [](const Values& c) { return Values{c[0] * 2 + 0.5}; }, init);
  };
  const auto while_in_scan = [=](const Values& v) {
    return over_layers(v, [&](const Tensor& x, const Tensor& w) {
      return Values{body_layer({doubled({x})[0], w})};
    });
  };
  const auto scan_in_while = [=](const Values& v) {
    const auto once = [&](const Tensor& x) {
      return over_layers({x, v[1]}, [](const Tensor& h, const Tensor& w) {
        return body_layer({h, w});
      })[0];
    };
    return while_loop([](const Values& c) { return c[1] < 3; },
                      [&](const Values& c) {
                        return Values{once(c[0]), c[1] + 1};
                      },
                      {v[0], v[2]});
  };
  const std::vector<HostTensor> inputs = body_inputs();
  return {{"scan", inputs, cond_in_scan},
          {"cond", inputs, scan_in_cond},
          {"scan", inputs, scan_in_scan},
          {"remat", inputs, remat_in_call_in_remat},
          {"scan", inputs, rule_in_scan},
          {"scan", inputs, vmap_in_scan},
          {"remat", inputs, kernel_in_scan_in_remat},
          {"while", inputs, while_in_scan},
          {"while", inputs, scan_in_while}};
}

/// Returns samples of every op with a body but shard_map (device_samples.h), of body_inputs().
inline std::vector<OpSample> body_samples() {
  const std::vector<HostTensor> inputs = body_inputs();
  const auto layer = body_layer;
  const auto in_loop = [layer](const Values& v) {
    const auto step = [&](const Values& c, const Values& w) {
      const Values h = remat(layer, {c[0], w[0]}, save_names({"hidden"}), false);
      return ScanResult{h, h};
    };
    const ScanResult r = scan(step, {v[0]}, {v[1]}, 3, {.reverse = true});
    return Values{r.carry[0], r.ys[0]};
  };
  const auto first = [](const Tensor& w) { return index_in_dim(w, 0, 0); };
  const auto branches = [=](const Values& v) {
    return switch_case(v[2],
                       {[](const Values& x) { return Values{x[0] * 2}; },
                        [=](const Values& x) {
                          return layer({x[0], first(x[1])});
                        },
                        [](const Values& x) { return Values{sin(x[0])}; }},
                       {v[0], v[1]});
  };
  const auto until_large = [](const Values& v) {
    const Tensor largest = reduce_max(abs(v[1]), {0, 1, 2});
    return while_loop([&](const Values& c) { return sum(abs(c[0])) < 20 * largest; },
                      [](const Values& c) {
                        return Values{c[0] * 2, c[1] + 1};
                      },
                      {v[0], v[2]});
  };
  const auto bounded = [](const Values& v) {
    return bounded_while([](const Values& c) { return sum(abs(c[0])) < 20; },
                         [](const Values& c) { return Values{c[0] * 2}; }, {v[0]}, 6);
  };
  const auto by_rule = [](const Values& v) {
    return custom_vjp({.name = "square",
                       .forward =
                           [](const Values& x) {
                             return WithResiduals{{x[0] * x[0]}, {x[0]}};
                           },
                       .backward = [](const Values& saved,
                                      const Values& g) { return Values{g[0] * saved[0] * 3}; }},
                      {v[0]});
  };
  std::vector<OpSample> out = {{"scan", inputs, in_loop},
                               {"cond", inputs, branches},
                               {"while", inputs, until_large},
                               {"cond", inputs, bounded},
                               {"call", inputs,
                                [=](const Values& v) {
                                  return call("layer", layer, {v[0], first(v[1])});
                                }},
                               {"remat", inputs,
                                [=](const Values& v) {
                                  return remat(layer, {v[0], first(v[1])}, save_nothing());
                                }},
                               {"kernel_call", inputs,
                                [=](const Values& v) {
                                  return Values{gated_silu(v[0], reduce_sum(v[1], {0, 1}))};
                                }},
                               {"custom_vjp", inputs, by_rule}};
  for (OpSample& sample : nested_body_samples()) out.push_back(std::move(sample));
  return out;
}

}  // namespace axle::testing
