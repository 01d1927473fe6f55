#include "learn/moments.h"

#include <cmath>

#include "learn/stateful_update.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exponential.h"

namespace axle {

Tree<ParamSpec> moment_specs(const Tree<ParamSpec>& params) {
  Tree<ParamSpec> specs = zero_state_specs(params, "m");
  specs.merge(zero_state_specs(params, "v"));
  return specs;
}

Tensor moving_mean(double decay, const Tensor& mean, const Tensor& x) {
  return decay * mean + (1 - decay) * x;
}
Tensor moving_mean(const Tensor& decay, const Tensor& mean, const Tensor& x) {
  return decay * mean + (1.0 - decay) * x;
}

// expm1 avoids the cancellation for a decay near 1.
Tensor bias_correction(double decay, const Tensor& step) {
  return decay == 0 ? step / step : -1.0 / expm1(step * std::log(decay));
}

Tensor debiased_decay(double decay, const Tensor& step) {
  if (decay == 0) return zeros_like(step);
  const double log = std::log(decay);
  return decay * expm1((step - 1) * log) / expm1(step * log);
}

}  // namespace axle
