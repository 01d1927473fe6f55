// An optimizer that the library lacks.
//
// Source: Zhuang et al. 2020, "AdaBelief", arXiv 2010.07468, algorithm 2.
#include "learn/optimizer.h"
#include "learn/stateful_update.h"
#include "world/experiment.h"

using namespace axle;

/// Adam whose second moment is that of the gradient's difference from its mean: small where the
/// gradient is as expected.
///
/// State: "m/<path>" and "s/<path>", f32.
class AdaBelief final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Decay of the mean of gradients.
    FractionBelowOne b1 = 0.9;
    /// Decay of the mean of squared differences.
    FractionBelowOne b2 = 0.999;
    /// Added to the mean of squared differences, and to its root.
    Positive<double> eps = 1e-16;
    /// Fraction of a weight that one step subtracts, before the learning rate.
    NonNegative<double> weight_decay = 0;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(AdaBelief, learning_rate, b1, b2, eps, weight_decay, weight_decay_scales)
  };
  AdaBelief(const Config& cfg, const Dims& dims, const Scope& scope)
      : cfg_(cfg),
        params_(dims.params),
        descent_({.learning_rate = cfg.learning_rate,
                  .weight_decay = cfg.weight_decay,
                  .weight_decay_scales = cfg.weight_decay_scales},
                 params_, scope) {}

  Tree<ParamSpec> state_specs() const override {
    Tree<ParamSpec> specs = zero_state_specs(params_, "m");
    specs.merge(zero_state_specs(params_, "s"));
    return specs;
  }

  UpdateOutputs update(const UpdateInputs& in) const override {
    const Tensor t = astype(in.step, DType::kF32);
    const Tensor m_correction = bias_correction(cfg_.b1, t);
    const Tensor s_correction = bias_correction(cfg_.b2, t);
    const Descent::Factors factors = descent_.at(in.step);
    UpdateOutputs out{.updates = {}, .state = {}};
    out.metrics.emplace("learning_rate", factors.rate);
    for (const auto& [path, gradient] : in.gradients) {
      const Tensor g = astype(gradient, DType::kF32);
      const Tensor m = moving_mean(cfg_.b1, in.state.at("m/" + path), g);
      const Tensor s = moving_mean(cfg_.b2, in.state.at("s/" + path), square(g - m)) + cfg_.eps;
      const Tensor direction = m * m_correction / (sqrt(s * s_correction) + cfg_.eps);
      out.updates.emplace(path, descent_.along(direction, path, in.params.at(path), factors));
      out.state.emplace("m/" + path, m);
      out.state.emplace("s/" + path, s);
    }
    return out;
  }

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Descent descent_;
};
AXLE_REGISTER(AdaBelief)

void add_adabelief(ConfigRef world) {
  replace_config<Optimizer>(world, AdaBelief::Config{}, {.keep = {"b2", "eps"}});
}
AXLE_REGISTER(add_adabelief, "adabelief")
