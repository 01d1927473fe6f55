#include "learn/transforms/trust_ratio.h"

#include "config/register.h"
#include "learn/param_matrices.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"

namespace axle {

Tensor trust_ratio(const Tensor& param, const Tensor& update, const ParamSpec& spec,
                   double coefficient, double eps) {
  const Tensor param_norm = block_norm(param, spec), update_norm = block_norm(update, spec);
  const Tensor known = (param_norm > 0) & (update_norm > 0);
  return select(known, coefficient * param_norm / (select(known, update_norm, 1) + eps), 1);
}

UpdateOutputs TrustRatio::update(const UpdateInputs& in) const {
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor param = astype(in.params.at(path), DType::kF32);
    out.updates.emplace(path,
                        g * trust_ratio(param, g, params_.at(path), cfg_.coefficient, cfg_.eps));
  }
  return out;
}

AXLE_REGISTER(TrustRatio)

}  // namespace axle
