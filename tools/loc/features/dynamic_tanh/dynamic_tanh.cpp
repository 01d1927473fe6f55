// A norm that the library lacks.
//
// Source: Zhu et al. 2025, "Transformers without Normalization", arXiv 2503.10622, section 4.
#include "world/experiment.h"

using namespace axle;

/// x -> scale * tanh(alpha * x) + bias: bounds each channel without statistics.
///
/// Shapes: x[..., D] of any float dtype -> the same. Parameters: alpha[], scale[D], bias[D].
class DynamicTanh final : public Norm {
 public:
  struct Config {
    /// The slope at the start.
    Positive<double> alpha = 0.5;
    AXLE_CONFIG(DynamicTanh, alpha)
  };
  DynamicTanh(const Config& cfg, const Dims& dims, const Scope& scope)
      : Norm(scope),
        alpha_(param("alpha", {.shape = {}, .init = Constant{.value = cfg.alpha}})),
        scale_(param("scale", {.shape = {dims.input_dim}, .init = Ones{}})),
        bias_(param("bias", {.shape = {dims.input_dim}, .init = Zeros{}})) {}

 protected:
  Tensor forward(const Tensor& x) override { return scale_() * tanh(alpha_() * x) + bias_(); }

 private:
  Param alpha_, scale_, bias_;
};
AXLE_REGISTER(DynamicTanh)

void add_dynamic_tanh(ConfigRef world) { replace_config<RMSNorm>(world, DynamicTanh::Config{}); }
AXLE_REGISTER(add_dynamic_tanh, "dynamic_tanh")
