#include "learn/param_ema.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"

namespace axle {

Tensor EmaDecay::operator()(const Step& step) const {
  const Tensor t = astype(step, DType::kF32);
  return select(t < double(warmup_steps), t / (t + 1.0), decay);
}

Tree<Tensor> update_ema(const ParamEma& ema, const Tree<Tensor>& average,
                        const Tree<Tensor>& params, const Tensor& step) {
  const Tensor decay = ema.decay(step);
  Tree<Tensor> out;
  for (const auto& [path, old] : average) {
    const Tensor param = astype(params.at(path), DType::kF32);
    out.emplace(path, decay * old + (1.0 - decay) * param);
  }
  return out;
}

AXLE_REGISTER(ParamEma)
AXLE_REGISTER(EmaDecay)

}  // namespace axle
