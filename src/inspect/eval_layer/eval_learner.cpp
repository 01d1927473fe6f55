#include "inspect/eval_layer/eval_learner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/tree.h"
#include "inspect/eval_layer/given_tensors.h"
#include "inspect/eval_layer/run_named.h"
#include "inspect/eval_layer/step_series.h"
#include "ir/type_differences.h"

namespace axle {
namespace {

using Trees = std::vector<Tree<HostTensor>>;  // one tree per step

// Returns the gradients of all parameters for the steps 0, 1, ...
Trees gradients_of(const Tree<HostTensor>& params, const Tree<HostTensor>& inputs,
                   std::optional<int64_t> num_steps) {
  Trees out;
  const Tree<Type> types = types_of(params);
  Tree<HostTensor> left = subtree(inputs, "grad");
  for (;;) {
    const std::string step = std::to_string(out.size());
    Tree<HostTensor> gradients = subtree(left, step);
    if (gradients.empty()) break;
    std::erase_if(left, [&](const auto& item) { return item.first.starts_with(step + "/"); });
    out.push_back(check_given(types, std::move(gradients), "grad/" + step, "a parameter of init/"));
  }
  if (!left.empty()) {
    throw ConfigError(fmt::format(
        "grad/{}: expected grad/<i>/<path> with consecutive i from 0, got none of step {}",
        left.begin()->first, out.size()));
  }
  if (out.empty()) throw DataError("grad/0: expected the gradient of each parameter, got none");
  if (num_steps) {
    if (*num_steps < 1 || *num_steps > static_cast<int64_t>(out.size())) {
      throw ConfigError(
          fmt::format("--steps: expected 1 to {}, the number of given gradients, got {}",
                      out.size(), *num_steps));
    }
    out.resize(static_cast<size_t>(*num_steps));
  }
  return out;
}

Tree<ParamSpec> specs_of(const Tree<HostTensor>& params) {
  if (params.empty()) throw DataError("init/: expected the parameters to start from, got none");
  Tree<ParamSpec> out;
  for (const auto& [path, value] : params) {
    if (!is_float(value.dtype()))
      throw ConfigError(
          fmt::format("init/{}: expected floats, got {}", path, to_text(value.type())));
    out.emplace(path, ParamSpec{.shape = value.shape(), .dtype = value.dtype()});
  }
  return out;
}

Tree<HostTensor> start_state(const Learner& learner, const Tree<HostTensor>& params,
                             const Tree<HostTensor>& given, Runtime& runtime) {
  if (given.empty()) {
    return run_named(
        "initialize", [&](const Tree<Tensor>& p) { return learner.initialize(p); }, params,
        runtime);
  }
  Tree<Type> types;
  for (const auto& [path, spec] : learner.state_specs()) types.emplace(path, spec.type());
  Tree<HostTensor> out = check_given(types, given, "state", "state of this learner");
  for (auto& [path, value] : out) value = value.astype(types.at(path).dtype);
  return out;
}

}  // namespace

Tree<HostTensor> eval_learner(const Child<Learner>& config,
                              const std::optional<Tree<HostTensor>>& params,
                              const Tree<HostTensor>& inputs, const EvalLearnerOptions& options,
                              Runtime& runtime) {
  Tree<HostTensor> start = start_weights(params, inputs).value_or(Tree<HostTensor>());
  if (options.dtype) cast_floats(start, *options.dtype);
  const Tree<ParamSpec> specs = specs_of(start);
  const auto learner = config.build({.params = specs}, Scope{});
  Trees gradients = gradients_of(start, inputs, options.num_steps);

  // The arguments of the update, named as the inputs of its program.
  Tree<HostTensor> arguments;
  put_subtree(arguments, "state", start_state(*learner, start, subtree(inputs, "state"), runtime));
  put_subtree(arguments, "param", std::move(start));
  const auto take_in = [&](Tree<HostTensor>& step) {
    if (options.dtype) cast_floats(step, *options.dtype);
    put_subtree(arguments, "grad", std::move(step));
  };
  take_in(gradients[0]);
  const NamedExecutable update(trace_named(
                                   "update",
                                   [&](const Tree<Tensor>& at) {
                                     LearnerOutputs done =
                                         learner->apply({.params = subtree(at, "param"),
                                                         .gradients = subtree(at, "grad"),
                                                         .state = subtree(at, "state")});
                                     Tree<Tensor> out;
                                     put_subtree(out, "param", std::move(done.params));
                                     put_subtree(out, "state", std::move(done.state));
                                     put_subtree(out, "metrics", std::move(done.metrics));
                                     return out;
                                   },
                                   arguments),
                               runtime);

  Tree<HostTensor> out;
  StepSeries metrics;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (i > 0) take_in(gradients[i]);
    const Tree<HostTensor> done = update(arguments);
    metrics.add(subtree(done, "metrics"));
    for (const char* kept : {"param", "state"}) put_subtree(arguments, kept, subtree(done, kept));
    put_subtree(out, fmt::format("param/{}", i), subtree(done, "param"));
  }
  put_subtree(out, "state", subtree(arguments, "state"));
  out.merge(metrics.stacked());
  return out;
}

}  // namespace axle
