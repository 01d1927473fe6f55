#include "learn/optimizers/muon.h"

#include <cmath>

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/shape.h"
#include "ops/products/einsum.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

// Coefficients of the odd polynomial a x + b x^3 + c x^5, chosen for a steep rise at 0.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

double factor_of(MuonScale scale, const ParamSpec& spec, const MatrixDims& dims) {
  const auto rows = static_cast<double>(spec.shape[static_cast<size_t>(dims.row)]);
  const auto columns = static_cast<double>(spec.shape[static_cast<size_t>(dims.column)]);
  return scale == MuonScale::kAdam ? 0.2 * std::sqrt(std::max(rows, columns))
                                   : std::sqrt(std::max(1.0, columns / rows));
}

}  // namespace

Tensor orthogonalized(const Tensor& x, int64_t iterations) {
  const bool tall = x.dim(-2) > x.dim(-1);
  Tensor y = tall ? swap_axes(x, -1, -2) : x;
  y = y / (sqrt(reduce_sum(square(y), {y.rank() - 2, y.rank() - 1}, /*keep_dims=*/true)) + 1e-7);
  for (int64_t i = 0; i < iterations; ++i) {
    const Tensor gram = einsum("...ij,...kj->...ik", y, y);
    const Tensor odd = kB * gram + kC * einsum("...ij,...jk->...ik", gram, gram);
    y = kA * y + einsum("...ij,...jk->...ik", odd, y);
  }
  return tall ? swap_axes(y, -1, -2) : y;
}

Muon::Muon(const Config& cfg, const Dims& dims, const Scope& scope)
    : MatrixOptimizer({dims.params, cfg.exclude, cfg.others, scope}),
      cfg_(cfg),
      descent_({.learning_rate = cfg.learning_rate,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               dims.params, scope) {}

Tree<ParamSpec> Muon::state_specs() const {
  Tree<ParamSpec> specs = zero_state_specs(split_.own, "m");
  split_.others.add_state_specs(specs);
  return specs;
}

Tree<Tensor> Muon::initialize(const Tree<Tensor>& params) const {
  Tree<Tensor> state = Optimizer::initialize(params);
  split_.others.add_state(params, state);
  return state;
}

UpdateOutputs Muon::update(const UpdateInputs& in) const {
  const Descent::Factors factors = descent_.at(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  for (const auto& [path, spec] : split_.own) {
    const Tensor g = astype(in.gradients.at(path), DType::kF32);
    const Tensor m = g + cfg_.momentum * in.state.at("m/" + path);
    const MatrixDims& dims = split_.dims.at(path);
    const Tensor direction = from_matrices(
        orthogonalized(to_matrices(g + cfg_.momentum * m, dims), cfg_.iterations), dims);
    out.updates.emplace(path, descent_.along(direction * factor_of(cfg_.scale, spec, dims), path,
                                             in.params.at(path), factors));
    out.state.emplace("m/" + path, m);
  }
  split_.others.add_update(in, "others", out);
  return out;
}

Tree<UpdateSize> Muon::update_sizes() const {
  Tree<UpdateSize> out;
  for (const auto& [path, spec] : split_.own) {
    // An orthogonal matrix has the singular values 1.
    out.emplace(path, UpdateSize{.kind = UpdateKind::kSpectral,
                                 .gain = factor_of(cfg_.scale, spec, split_.dims.at(path))});
  }
  split_.others.add_update_sizes(out);
  return out;
}

AXLE_REGISTER(Muon)

}  // namespace axle
