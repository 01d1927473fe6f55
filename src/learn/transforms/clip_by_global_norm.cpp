#include "learn/transforms/clip_by_global_norm.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {

ClipByGlobalNorm::ClipByGlobalNorm(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}

UpdateOutputs ClipByGlobalNorm::update(const UpdateInputs& in) const {
  const Tensor scale = minimum(cfg_.max_norm / (in.norm() + cfg_.eps), 1);
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    out.updates.emplace(path, astype(gradient, DType::kF32) * scale);
  }
  return out;
}

AXLE_REGISTER(ClipByGlobalNorm)

}  // namespace axle
