#include "learn/matrix_split.h"

#include <algorithm>

#include "learn/path_rules.h"
#include "nn/param_path.h"

namespace axle {
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
