// Muon: momentum whose matrices are made orthogonal.
//
// Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"; Liu et al.
// 2025, arXiv 2502.16982, section 2 (decay and the scale by the larger dim).
#pragma once

#include <string>
#include <vector>

#include "learn/descent.h"
#include "learn/matrix_split.h"
#include "learn/optimizers/adamw.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {

/// The factor of an orthogonal matrix with R rows (inputs) and C columns (outputs).
enum class MuonScale {
  kAdam,      // 0.2 * sqrt(max(R, C)): elements as large as those of AdamW's updates
  kSpectral,  // sqrt(max(1, C / R)): the same gain for all widths
};
constexpr auto texts_of(MuonScale) {
  return std::to_array<EnumText<MuonScale>>(
      {{MuonScale::kAdam, "adam"}, {MuonScale::kSpectral, "spectral"}});
}

/// update = -learning_rate * (factor * orthogonal(gradient + momentum * m')
///                            + weight_decay * scale * param)
/// with m' = momentum * m + gradient, for each matrix of a parameter (matrix_dims): those of
/// stacked layers, heads and experts are apart. `others` updates parameters without matrices, and
/// those that `exclude` names.
///
/// State: "m/<path>", f32; "others/...". Metrics: "learning_rate"; those of others as
/// "<metric>/others".
class Muon final : public MatrixOptimizer {
 public:
  /// Each is part of the program.
  using Iterations = Ranged<int64_t, Bounds{.min = 1, .max = 100}>;
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Factor of the previous m in the next m.
    FractionBelowOne momentum = 0.95;
    /// Iterations that make a matrix nearly orthogonal: singular values come between 0.7 and 1.2.
    Iterations iterations = 5;
    /// Factor of the orthogonal matrices.
    MuonScale scale = MuonScale::kAdam;
    /// Fraction of a weight that one step subtracts, before all other factors.
    NonNegative<double> weight_decay = 0;
    /// Factor of the decay.
    DecayFactor decay_factor = DecayFactor::kLearningRate;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    /// Patterns of the paths of matrices that `others` updates: the two ends of a language model. A
    /// pattern of the default need not match.
    std::vector<std::string> exclude = vocabulary_weights();
    /// Updates all other parameters.
    Child<Optimizer> others = AdamW::Config{};
    AXLE_CONFIG(Muon, learning_rate, momentum, iterations, scale, weight_decay, decay_factor,
                weight_decay_scales, exclude, others)
  };
  /// Throws ConfigError for patterns that match no parameter.
  Muon(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const Tree<Tensor>& params) const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  Descent descent_;
};

/// Traced: maps each matrix U S V^T to nearly U V^T, by Newton-Schulz iterations.
///
/// Shapes: x[.., m, n] f32 -> the same. Zeros stay zeros.
Tensor orthogonalized(const Tensor& x, int64_t iterations);

}  // namespace axle
