#include "learn/optimizers/matrix_optimizers.h"

#include <cmath>

#include "config/register.h"
#include "learn/stateful_update.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"
#include "transform/linalg/linalg.h"

namespace axle {
namespace {

// Coefficients of the odd polynomial a x + b x^3 + c x^5, chosen for a steep rise at 0.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

double factor_of(MuonScale scale, const ParamSpec& spec, const MatrixDims& dims) {
  const auto rows = static_cast<double>(spec.shape[dims.row]);
  const auto columns = static_cast<double>(spec.shape[dims.column]);
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

namespace {

constexpr DotOptions kExact = {.precision = Precision::kHighest};

Tensor product(std::string_view spec, const Tensor& a, const Tensor& b) {
  return einsum(spec, a, b, kExact);
}

// Returns the spec of one square matrix for each matrix of the parameter, with the size and, for
// its rows, the sharding of one of the parameter's dims.
ParamSpec square_spec(const ParamSpec& param, const MatrixDims& dims, int64_t side) {
  ParamSpec out{.init = Zeros{}, .dtype = DType::kF32};
  const auto axes_of = [&](int64_t dim) {
    const auto i = static_cast<size_t>(dim);
    return i < param.mesh_axes.size() ? param.mesh_axes[i] : kReplicated;
  };
  for (int64_t dim = 0; dim < std::ssize(param.shape); ++dim) {
    if (dim == dims.row || dim == dims.column) continue;
    out.shape.push_back(param.shape[dim]);
    out.mesh_axes.push_back(axes_of(dim));
  }
  const int64_t size = param.shape[side];
  out.shape.insert(out.shape.end(), {size, size});
  out.mesh_axes.push_back(axes_of(side));
  out.mesh_axes.push_back(kReplicated);
  return out;
}

Tensor identities(const Shape& shape) {
  const int64_t n = shape.back();
  const Tensor one = astype(equal(iota({n, n}, 0), iota({n, n}, 1)), DType::kF32);
  return broadcast_to(one, shape);
}

}  // namespace

Soap::Soap(const Config& cfg, const Dims& dims, const Scope& scope)
    : MatrixOptimizer({dims.params, cfg.exclude, cfg.others, scope}),
      cfg_(cfg),
      descent_({.learning_rate = cfg.learning_rate,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               dims.params, scope) {}

std::vector<Soap::Side> Soap::sides(const std::string& path) const {
  const MatrixDims& dims = split_.dims.at(path);
  std::vector<Side> out;
  for (const auto& [name, dim] : {std::pair("left", dims.row), std::pair("right", dims.column)}) {
    if (split_.own.at(path).shape[dim] <= cfg_.max_dim) out.push_back({name, dim});
  }
  return out;
}

Tree<ParamSpec> Soap::state_specs() const {
  Tree<ParamSpec> specs = moment_specs(split_.own);
  for (const auto& [path, spec] : split_.own) {
    for (const Side& side : sides(path)) {
      const ParamSpec squares = square_spec(spec, split_.dims.at(path), side.dim);
      specs.emplace(side.name + "/" + path, squares);
      specs.emplace(side.name + "_basis/" + path, squares);
    }
  }
  split_.others.add_state_specs(specs);
  return specs;
}

Tree<Tensor> Soap::initialize(const Tree<Tensor>& params) const {
  Tree<Tensor> state = Optimizer::initialize(params);
  for (const auto& [path, spec] : split_.own) {
    for (const Side& side : sides(path)) {
      Tensor& basis = state.at(side.name + "_basis/" + path);
      basis = identities(basis.shape());
    }
  }
  split_.others.add_state(params, state);
  return state;
}

Tensor Soap::rotated(const std::string& path, Tensor matrices, const Tree<Tensor>& state,
                     Rotation rotation) const {
  for (const Side& side : sides(path)) {
    const Tensor& basis = state.at(side.name + "_basis/" + path);
    const bool left = side.dim == split_.dims.at(path).row, in = rotation == Rotation::kIn;
    matrices = left ? product(in ? "...ki,...kj->...ij" : "...ik,...kj->...ij", basis, matrices)
                    : product(in ? "...ik,...kj->...ij" : "...ik,...jk->...ij", matrices, basis);
  }
  return matrices;
}

UpdateOutputs Soap::update(const UpdateInputs& in) const {
  const Tensor t = astype(in.step, DType::kF32);
  const Tensor m_correction = bias_correction(cfg_.b1, t);
  const Tensor v_correction = bias_correction(cfg_.b2, t);
  const Descent::Factors factors = descent_.at(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  Values means, bases;  // of all sides, in order
  for (const auto& [path, spec] : split_.own) {
    const MatrixDims& dims = split_.dims.at(path);
    const Tensor g = astype(in.gradients.at(path), DType::kF32), matrices = to_matrices(g, dims);
    const Tensor m = moving_mean(cfg_.b1, in.state.at("m/" + path), g);
    const Tensor g_square =
        from_matrices(square(rotated(path, matrices, in.state, Rotation::kIn)), dims);
    const Tensor v = moving_mean(cfg_.b2, in.state.at("v/" + path), g_square);
    const Tensor m_in = rotated(path, to_matrices(m * m_correction, dims), in.state, Rotation::kIn);
    const Tensor n = m_in / (sqrt(to_matrices(v * v_correction, dims)) + cfg_.eps);
    const Tensor direction = from_matrices(rotated(path, n, in.state, Rotation::kBack), dims);
    out.updates.emplace(path, descent_.along(direction, path, in.params.at(path), factors));
    out.state.emplace("m/" + path, m);
    out.state.emplace("v/" + path, v);
    for (const Side& side : sides(path)) {
      const std::string name = side.name + "/" + path;
      const Tensor gram = side.dim == dims.row ? product("...ik,...jk->...ij", matrices, matrices)
                                               : product("...ki,...kj->...ij", matrices, matrices);
      means.push_back(moving_mean(cfg_.basis_decay, in.state.at(name), gram));
      bases.push_back(in.state.at(side.name + "_basis/" + path));
      out.state.emplace(name, means.back());
    }
  }
  const Tensor due =
      equal(remainder(in.step, full_like(in.step, int64_t{cfg_.every_steps})), zeros_like(in.step));
  const auto turn = [&](const Values& old) {
    Values next;
    for (size_t i = 0; i < old.size(); ++i)
      next.push_back(qr(product("...ij,...jk->...ik", means[i], old[i])).first);
    return next;
  };
  const Values next = cond(
      due, turn, [](const Values& old) { return old; }, bases);
  auto basis = next.begin();
  for (const auto& [path, spec] : split_.own) {
    for (const Side& side : sides(path)) out.state.emplace(side.name + "_basis/" + path, *basis++);
  }
  split_.others.add_update(in, "others", out);
  return out;
}

Tree<UpdateSize> Soap::update_sizes() const {
  Tree<UpdateSize> out = update_sizes_of(split_.own, UpdateKind::kElements);
  split_.others.add_update_sizes(out);
  return out;
}

AXLE_REGISTER(Soap)

}  // namespace axle
