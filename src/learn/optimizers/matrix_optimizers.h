// Optimizers that treat each matrix as a whole: Muon and SOAP.
#pragma once

#include <string>
#include <vector>

#include "learn/matrix_split.h"
#include "learn/optimizer.h"
#include "learn/optimizers/adam.h"
#include "learn/schedules/schedules.h"

namespace axle {

// Muon: momentum whose matrices are made orthogonal.
//
// Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"; Liu et al.
// 2025, arXiv 2502.16982, section 2 (decay and the scale by the larger dim).

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
/// with m' = momentum * m + gradient, for each matrix of a parameter (matrix_dims): matrices of
/// stacked layers, heads and experts are separate. `others` updates parameters without matrices,
/// and those that `exclude` names.
///
/// State: "m/<path>", f32; "others/...". Metrics: "learning_rate"; metrics of others as
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

// SOAP: Adam in the slowly rotating eigenbases of Shampoo's preconditioner.
//
// Source: Vyas et al. 2024, arXiv 2409.11321, algorithms 3 and 4; Gupta et al. 2018, arXiv
// 1802.09568 (Shampoo).

/// For each matrix G of a gradient (matrix_dims), with moving means L of G G^T and R of G^T G and
/// nearly their eigenvectors Q_L and Q_R:
///   n = (Q_L^T m_hat Q_R) / (sqrt(v_hat) + eps)
///   update = -learning_rate * (Q_L n Q_R^T + weight_decay * scale * param)
/// where m_hat is the unbiased mean of G and v_hat that of (Q_L^T G Q_R)^2. Matrices of stacked
/// layers, heads and experts are separate. A side longer than max_dim is not rotated. `others`
/// updates parameters without matrices, and those that `exclude` names.
///
/// The bases begin as the identity, where this is Adam. At the end of every `every_steps` steps
/// each rotates by one step of orthogonal iteration: Q = qr(L Q). The authors' program begins
/// otherwise: its first step makes no update, and its bases are the eigenvectors of that gradient.
///
/// State, f32: "m/<path>" and "v/<path>"; "left/<path>", "left_basis/<path>" [.., rows, rows] and
/// "right/<path>", "right_basis/<path>" [.., columns, columns] for sides that rotate; "others/...".
/// Metrics: "learning_rate"; metrics of others as "<metric>/others".
class Soap final : public MatrixOptimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Decay of the mean of gradients.
    FractionBelowOne b1 = 0.95;
    /// Decay of the mean of squared gradients in the eigenbases.
    FractionBelowOne b2 = 0.95;
    /// Added to the square root of the mean square.
    Positive<double> eps = 1e-8;
    /// Decay of L and R.
    FractionBelowOne basis_decay = 0.95;
    /// Steps between two rotations of the bases.
    Positive<int64_t> every_steps = 10;
    /// The longest side that has a basis of its own.
    Positive<int64_t> max_dim = 8192;
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
    AXLE_CONFIG(Soap, learning_rate, b1, b2, eps, basis_decay, every_steps, max_dim, weight_decay,
                decay_factor, weight_decay_scales, exclude, others)
  };
  /// Throws ConfigError for patterns that match no parameter.
  Soap(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const Tree<Tensor>& params) const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  /// One side of a parameter's matrices.
  struct Side {
    std::string name;  // "left" or "right"
    int64_t dim;       // of the parameter
  };
  /// Returns the sides of a parameter that rotate.
  std::vector<Side> sides(const std::string& path) const;
  /// Rotates matrices into the eigenbases, or back.
  enum class Rotation { kIn, kBack };
  Tensor rotated(const std::string& path, Tensor matrices, const Tree<Tensor>& state,
                 Rotation rotation) const;

  Config cfg_;
  Descent descent_;
};

}  // namespace axle
