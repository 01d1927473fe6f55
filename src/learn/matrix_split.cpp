#include "learn/matrix_split.h"

#include <algorithm>

#include "learn/weight_decay.h"
#include "nn/init_rules.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {
namespace {

// Counts a dim from the front. Returns none for a dim that the parameter lacks.
std::optional<int64_t> from_front(int64_t dim, const ParamSpec& spec) {
  const auto rank = std::ssize(spec.shape);
  const int64_t out = dim < 0 ? dim + rank : dim;
  return out >= 0 && out < rank ? std::optional(out) : std::nullopt;
}

bool is_batch(int64_t dim, const ParamSpec& spec) {
  return std::ranges::any_of(spec.fan.batch, [&](int64_t b) { return from_front(b, spec) == dim; });
}

std::optional<int64_t> last_of(const std::vector<int64_t>& dims, const ParamSpec& spec) {
  if (dims.empty()) return std::nullopt;
  const std::optional<int64_t> last = from_front(dims.back(), spec);
  return last && !is_batch(*last, spec) ? last : std::nullopt;
}

}  // namespace

std::optional<MatrixDims> matrix_dims(const ParamSpec& spec) {
  const auto row = last_of(spec.fan.in, spec), column = last_of(spec.fan.out, spec);
  if (!row || !column || *row == *column) return std::nullopt;
  return MatrixDims{*row, *column};
}

Tensor to_matrices(const Tensor& x, const MatrixDims& dims) {
  const int64_t column = dims.column - (dims.row < dims.column ? 1 : 0);
  return move_axis(move_axis(x, dims.row, -1), column, -1);
}

Tensor from_matrices(const Tensor& matrices, const MatrixDims& dims) {
  const int64_t column = dims.column - (dims.row < dims.column ? 1 : 0);
  return move_axis(move_axis(matrices, -1, column), -1, dims.row);
}

std::vector<int64_t> block_axes(const ParamSpec& spec) {
  std::vector<int64_t> out;
  for (int64_t dim = 0; dim < std::ssize(spec.shape); ++dim) {
    if (!is_batch(dim, spec)) out.push_back(dim);
  }
  return out;
}

Tensor block_rms(const Tensor& x, const ParamSpec& spec) {
  return sqrt(mean(square(x), block_axes(spec), /*keep_dims=*/true));
}
Tensor block_norm(const Tensor& x, const ParamSpec& spec) {
  return sqrt(reduce_sum(square(x), block_axes(spec), /*keep_dims=*/true));
}

namespace {

bool belongs_to_others(const std::string& path, const ParamSpec& spec,
                       const std::vector<std::string>& exclude) {
  return !matrix_dims(spec) || std::ranges::any_of(exclude, [&](const std::string& pattern) {
    return matches_path(pattern, path);
  });
}

Tree<ParamSpec> rest_of(const Tree<ParamSpec>& params, const std::vector<std::string>& exclude) {
  Tree<ParamSpec> out;
  for (const auto& [path, spec] : params) {
    if (belongs_to_others(path, spec, exclude)) out.emplace(path, spec);
  }
  return out;
}

}  // namespace

std::vector<std::string> vocabulary_weights() { return {"**.emb.weight", "**.lm_head.weight"}; }

MatrixSplit::MatrixSplit(const Tree<ParamSpec>& params, const std::vector<std::string>& exclude,
                         const Child<Optimizer>& other_config, const Scope& scope)
    : others(other_config, "others", rest_of(params, exclude), part_scope(scope, "others")) {
  std::vector<std::string> must_match;
  std::ranges::copy_if(exclude, std::back_inserter(must_match), [](const std::string& pattern) {
    const std::vector<std::string> optional = vocabulary_weights();
    return std::ranges::find(optional, pattern) == optional.end();
  });
  matching_paths(params, must_match, field_path(scope, "exclude"));
  for (const auto& [path, spec] : params) {
    if (belongs_to_others(path, spec, exclude)) continue;
    own.emplace(path, spec);
    dims.emplace(path, *matrix_dims(spec));
  }
}

Tree<Tensor> MatrixOptimizer::gradient_point(const Tree<Tensor>& params,
                                             const Tree<Tensor>& state) const {
  Tree<Tensor> out = params;
  split_.others.move_to_gradient_point(out, state);
  return out;
}

Tree<Tensor> MatrixOptimizer::measure(const MeasureInputs& in) const {
  Tree<Tensor> out;
  split_.others.add_measured(in, out);
  return out;
}

}  // namespace axle
