// Calls of the ops with a body, with inputs, for the law that every runtime gives the same.
#pragma once

#include "testing/op_samples.h"
#include "transform/call.h"
#include "transform/control_flow/cond.h"
#include "transform/control_flow/scan.h"
#include "transform/control_flow/while_loop.h"
#include "transform/custom_vjp.h"
#include "transform/grad.h"
#include "transform/kernel/gated_silu.h"
#include "transform/remat/remat.h"
#include "transform/vmap.h"

namespace axle::testing {

/// Returns samples of every op with a body. The inputs are floats but for the last one, an index.
inline std::vector<OpSample> body_samples() {
  const std::vector<HostTensor> inputs = {samples::uniform({4}, -1, 1, 2),
                                          samples::uniform({3, 4, 4}, -1, 1, 3),
                                          HostTensor::scalar(int32_t{1})};
  const auto layer = [](const Values& v) { return Values{name(tanh(dot(v[0], v[1])), "hidden")}; };
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
  return {{"scan", inputs, in_loop},
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
}

}  // namespace axle::testing
