#include "learn/transforms/clip_by_block_rms.h"

#include "config/register.h"
#include "learn/param_matrices.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {

Tensor clipped_by_block_rms(const Tensor& x, const ParamSpec& spec, double max_rms) {
  return x / maximum(block_rms(x, spec) / max_rms, 1);
}

UpdateOutputs ClipByBlockRms::update(const UpdateInputs& in) const {
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    out.updates.emplace(
        path, clipped_by_block_rms(astype(gradient, DType::kF32), params_.at(path), max_rms_));
  }
  return out;
}

AXLE_REGISTER(ClipByBlockRms)

}  // namespace axle
