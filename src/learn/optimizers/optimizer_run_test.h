// Runs optimizers on small problems with the interpreter.
#pragma once

#include <cmath>

#include "learn/optimizer.h"
#include "learn/optimizer_groups.h"
#include "learn/test_program_test.h"
#include "nn/tensor_tree.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"

namespace axle {

/// sum(curvature * (p - target)^2) / 2, whose Hessian is diagonal and known. Targets that the model
/// draws have the gradient sqrt(curvature), so that the estimate of Gauss and Newton is exact.
class Quadratic final : public Objective {
 public:
  Quadratic(HostTree curvature, HostTree target)
      : curvature_(std::move(curvature)), target_(std::move(target)) {}
  Tree<Tensor> gradient(const Tree<Tensor>& params) const override {
    Tree<Tensor> out;
    for (const auto& [path, p] : params)
      out.emplace(path, constant(curvature_.at(path)) * (p - constant(target_.at(path))));
    return out;
  }
  Sampled sampled_gradient(const Tree<Tensor>& params, const random::Key&) const override {
    Sampled out{.gradient = {}, .num_targets = scalar(1)};
    for (const auto& [path, p] : params)
      out.gradient.emplace(path, sqrt(constant(curvature_.at(path))));
    return out;
  }

 private:
  HostTree curvature_, target_;
};

/// An optimizer with its parameters and state.
class OptimizerRun {
 public:
  OptimizerRun(const Child<Optimizer>& config, HostTree initial, Tree<ParamSpec> its_specs)
      : params(std::move(initial)),
        specs(std::move(its_specs)),
        optimizer_(config.build({specs}, {.path = "optimizer"})),
        state(run_trees([&](const auto& in) { return optimizer_->initialize(in[0]); }, {params})) {}
  OptimizerRun(const Child<Optimizer>& config, const HostTree& initial)
      : OptimizerRun(config, initial, specs_of(initial)) {}

  /// Makes one update with these gradients.
  void step(const HostTree& gradients) {
    take(
        [&](const Tree<Tensor>&) {
          Tree<Tensor> out;
          for (const auto& [path, value] : gradients) out.emplace(path, constant(value));
          return out;
        },
        nullptr);
  }
  /// Makes one update with the gradient of the objective, which is also measured.
  void step(const Objective& objective) {
    take([&](const Tree<Tensor>& at) { return objective.gradient(at); }, &objective);
  }

  /// Continues from the state after `num_steps` updates.
  void restore(HostTree saved, int32_t steps) {
    state = std::move(saved);
    num_steps_ = steps;
  }

  const Optimizer& optimizer() const { return *optimizer_; }
  double metric(std::string_view name) const { return metrics.find(name)->second.at(0); }

  HostTree params;
  Tree<ParamSpec> specs;

 private:
  std::unique_ptr<Optimizer> optimizer_;

 public:
  HostTree state, metrics;

 private:
  using GradientAt = std::function<Tree<Tensor>(const Tree<Tensor>&)>;
  void take(const GradientAt& gradient_at, const Objective* objective) {
    ++num_steps_;
    const HostTree done = run_trees(
        [&](const std::vector<Tree<Tensor>>& in) {
          const Tensor& step = in[2].at("step");
          Tree<Tensor> measured;
          if (objective) {
            measured = optimizer_->measure(
                {*objective, in[0], in[1], step, random::fold_in(random::random_key(5), step)});
          }
          const Tree<Tensor> gradients = gradient_at(optimizer_->gradient_point(in[0], in[1]));
          UpdateOutputs out =
              optimizer_->update({gradients, in[0], in[1], step, {}, std::move(measured)});
          Tree<Tensor> all;
          for (const auto& [path, update] : out.updates)
            all.emplace("params/" + path, in[0].at(path) + update);
          put_subtree(all, "state", std::move(out.state));
          put_subtree(all, "metrics", std::move(out.metrics));
          return all;
        },
        {params, state, {{"step", HostTensor::scalar(num_steps_)}}});
    params = subtree(done, "params");
    state = subtree(done, "state");
    metrics = subtree(done, "metrics");
  }
  int32_t num_steps_ = 0;
};

/// Numbers without a pattern that are the same in every run, about 1 in size.
inline HostTensor wave(const Shape& shape, double phase) {
  HostTensor out(Type{DType::kF32, shape});
  double i = phase;
  for (float& x : out.values<float>()) x = static_cast<float>(1.5 * std::sin(3.7 * (i += 1)));
  return out;
}

inline std::vector<double> doubles(const HostTensor& t) {
  const auto values = t.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace axle
