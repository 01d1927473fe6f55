#include "layers/state_space/step_init.h"

#include <fmt/format.h>

#include <cmath>

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/random/random_floats.h"

namespace axle {

Initialiser LogOfUniform::operator()(const InitSpec& spec) const {
  return {fmt::format("log(uniform({}, {}))", double{low}, double{high}),
          [spec, *this](const random::Key& key) {
            return astype(log(random::uniform(key, spec.shape, DType::kF32, low, high)),
                          spec.dtype);
          }};
}

Initialiser InverseSoftplusOfLogUniform::operator()(const InitSpec& spec) const {
  return {fmt::format("inverse_softplus(log_uniform({}, {}))", double{low}, double{high}),
          [spec, *this](const random::Key& key) {
            const Tensor value =
                exp(random::uniform(key, spec.shape, DType::kF32, std::log(low), std::log(high)));
            return astype(value + log(-expm1(-value)), spec.dtype);
          }};
}

AXLE_REGISTER(LogOfUniform)
AXLE_REGISTER(InverseSoftplusOfLogUniform)

}  // namespace axle
