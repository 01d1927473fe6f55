// Clipping of each parameter by its own root mean square.
//
// Source: Shazeer & Stern 2018, arXiv 1804.04235, section 6 (update clipping).
#pragma once

#include "config/fields/ranged.h"
#include "learn/gradient_transform.h"

namespace axle {

/// gradient / max(1, rms / max_rms) with the root mean square of each parameter's gradient. Each
/// layer of a Repeat is clipped by itself.
class ClipByBlockRms final : public GradientTransform {
 public:
  struct Config {
    /// Gradients with a larger root mean square are scaled down to this one.
    Positive<double> max_rms = 1;
    AXLE_CONFIG(ClipByBlockRms, max_rms)
  };
  ClipByBlockRms(const Config& cfg, const Dims& dims, const Scope&)
      : max_rms_(cfg.max_rms), params_(dims.params) {}
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  double max_rms_;
  Tree<ParamSpec> params_;
};

/// Traced: clips one f32 tensor of the parameter's shape.
Tensor clipped_by_block_rms(const Tensor& x, const ParamSpec& spec, double max_rms);

}  // namespace axle
