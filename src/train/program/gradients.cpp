#include "train/program/gradients.h"

#include <fmt/format.h>

#include "base/error.h"
#include "layers/pipeline/stage_loop.h"
#include "learn/learner.h"
#include "nn/functional.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "train/record/metrics.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"

namespace axle {
namespace {

constexpr const char* kTargets = "target_labels";

Tree<Tensor> cast_floats(const Tree<Tensor>& tree, const std::optional<DType>& dtype) {
  Tree<Tensor> out;
  for (const auto& [path, t] : tree)
    out.emplace_hint(out.end(), path, dtype && is_float(t.dtype()) ? astype(t, *dtype) : t);
  return out;
}

// Returns the parameters as the layers read them. Each parameter keeps its sharding while it is
// cast, so that only the narrow form is ever gathered.
Tree<Tensor> working_parameters(const ProgramSpec& spec, const Tree<Tensor>& parameters) {
  Tree<Tensor> out = cast_floats(parameters, spec.compute_dtype);
  for (const auto& [path, param] : spec.model.param_specs()) {
    Tensor& working = out.at(path);
    if (param.compute && is_float(working.dtype()))
      working = astype(parameters.at(path), *param.compute);
    if (param.compute || spec.compute_dtype)
      working = sharding_constraint(working, param.partition());
  }
  return out;
}

InvocationOptions training_options(const ProgramSpec& spec, const StepInputs& inputs) {
  return {.training = true,
          .key = inputs.key,
          .state = inputs.layers,
          .summaries = spec.layer_summaries,
          .compute_dtype = spec.compute_dtype,
          .mesh = spec.mesh};
}

// Returns the batch with targets that the model draws itself, where the batch has targets.
Tree<Tensor> with_sampled_targets(const ProgramSpec& spec, const StepInputs& inputs,
                                  const random::Key& key) {
  Tree<Tensor> batch = inputs.batch;
  const auto labels = batch.find(kTargets);
  if (labels == batch.end()) {
    throw ConfigError(fmt::format(
        "{}: expected a model of tokens, whose batches hold {}, got none; the optimizer lets the "
        "model draw targets",
        spec.model.path(), kTargets));
  }
  const Tensor logits_BTV =
      functional(spec.model, working_parameters(spec, inputs.parameters),
                 training_options(spec, inputs),
                 [&] { return spec.model.logits(cast_floats(batch, spec.compute_dtype)); })
          .first;
  const Tensor drawn_BT = random::categorical(key, astype(logits_BTV, DType::kF32));
  labels->second =
      select(labels->second >= 0, astype(drawn_BT, labels->second.dtype()), labels->second);
  return batch;
}

// Splits [B, ..] into n microbatches.
Tensor microbatches_of(const ProgramSpec& spec, const Tensor& x, int64_t n) {
  PartitionSpec axes = spec.batch_partition;
  axes.dims.resize(std::min(axes.dims.size(), x.shape().size()));
  axes.dims.insert(axes.dims.begin(), kReplicated);
  return sharding_constraint(split_rows(x, n), axes);
}

// The number of microbatches by this method of the learner. The devices that share the rows of the
// batch share those of each.
int64_t num_microbatches(const ProgramSpec& spec,
                         int64_t (Learner::*number)(int64_t rows, int64_t shares) const) {
  int64_t rows = 0;
  for (const auto& [name, type] : spec.batch) {
    if (!type.dims.empty()) rows = std::max(rows, type.dims[0]);
  }
  return (spec.learner->*number)(rows, num_row_shares(spec.batch_partition, spec.mesh));
}

// The state of layers that is a gradient (StateUpdate::kGradient).
std::vector<std::string> paths_of_gradient_state(const Model& model) {
  std::vector<std::string> out;
  for (const auto& [path, spec] : model.state_specs()) {
    if (spec.update == StateUpdate::kGradient) out.push_back(path);
  }
  return out;
}

// Microbatches count by their numbers of targets.
Tensor weight_of(const Tree<Tensor>& metrics) {
  const auto targets = metrics.find(kNumTargets);
  return targets == metrics.end() ? scalar(1) : astype(targets->second, DType::kF32);
}

Tensor sum_of(const Tensor& weights) { return maximum(sum(weights), 1); }

// Returns the metrics of a batch from those of its microbatches, which are stacked.
Tree<Tensor> of_whole_batch(Tree<Tensor> metrics, const Tensor& weights) {
  for (auto& [name, stacked] : metrics) {
    const bool counts = name == kNumTargets;
    const Tensor terms =
        counts ? stacked : einsum("i...,i->i...", stacked, weights) / sum_of(weights);
    stacked = reduce_sum(terms, {0});
  }
  return metrics;
}

}  // namespace

std::pair<ModelOutput, OutputCollection> forward(const ProgramSpec& spec,
                                                 const Tree<Tensor>& parameters,
                                                 const Tree<Tensor>& batch,
                                                 InvocationOptions options) {
  options.compute_dtype = spec.compute_dtype;
  auto out = functional(spec.model, working_parameters(spec, parameters), std::move(options),
                        [&] { return spec.model(cast_floats(batch, spec.compute_dtype)); });
  if (!out.second.aux_losses.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected the model to add this aux loss to its loss, got a loss without it",
        out.second.aux_losses.begin()->first));
  }
  check_model_metrics(spec.model.path(), out.first.metrics);
  return out;
}

Tree<Tensor> evaluated_metrics(const ProgramSpec& spec, const Tree<Tensor>& parameters,
                               const Tree<Tensor>& layers, const Tree<Tensor>& batch) {
  const auto of_microbatch = [&](const Tree<Tensor>& microbatch) {
    ModelOutput out =
        forward(spec, parameters, microbatch, {.state = layers, .summaries = false}).first;
    out.metrics.emplace("loss", out.loss);
    return out.metrics;
  };
  const int64_t n =
      spec.learner ? num_microbatches(spec, &Learner::evaluated_microbatches) : int64_t{1};
  if (n == 1) return of_microbatch(batch);
  Values xs;
  for (const auto& [name, t] : batch) xs.push_back(microbatches_of(spec, t, n));
  Tree<Tensor> metrics;  // names, and later the values
  const auto body = [&](const Values&, const Values& slices) {
    Tree<Tensor> microbatch = batch;
    auto at = slices.begin();
    replace_tensors(microbatch, at);
    metrics = of_microbatch(microbatch);
    ScanResult out{.carry = {}, .ys = {weight_of(metrics)}};
    for (const auto& [name, t] : metrics) out.ys.push_back(astype(t, DType::kF32));
    return out;
  };
  const Values stacked = scan(body, {}, xs, n).ys;
  auto at = stacked.begin() + 1;
  replace_tensors(metrics, at);
  return of_whole_batch(std::move(metrics), stacked[0]);
}

StepObjective::StepObjective(const ProgramSpec& spec, StepInputs inputs)
    : spec_(spec),
      inputs_(std::move(inputs)),
      num_microbatches_(num_microbatches(spec, &Learner::microbatches)) {
  for (const auto& [path, state] : spec_.model.state_specs()) {
    if (state.update == StateUpdate::kStepStart)
      inputs_.layers.at(path) = full_like(inputs_.layers.at(path), 1.0);
  }
  const int64_t n = num_microbatches_;
  for (const auto& [name, x] : inputs_.batch) {
    if (n == 1 || (x.rank() > 0 && x.dim(0) % n == 0)) continue;
    throw ConfigError(
        fmt::format("learner.microbatches: must divide the rows of a batch, got {} and {}{}", n,
                    name, to_text(x.shape())));
  }
}

Gradients StepObjective::gradients() const { return evaluate(inputs_, {}); }

Tree<Tensor> StepObjective::gradient(const Tree<Tensor>& params) const {
  const Tree<Tensor> all = evaluate(at(params), {}).by_parameter;
  Tree<Tensor> out;
  for (const auto& [path, t] : params) out.emplace_hint(out.end(), path, all.at(path));
  return out;
}

Objective::Sampled StepObjective::sampled_gradient(const Tree<Tensor>& params,
                                                   const random::Key& key) const {
  const Gradients all = evaluate(at(params), key);
  Sampled out{.gradient = {}, .num_targets = weight_of(all.metrics)};
  for (const auto& [path, t] : params) out.gradient.emplace(path, all.by_parameter.at(path));
  return out;
}

StepInputs StepObjective::at(const Tree<Tensor>& trained) const {
  StepInputs out = inputs_;
  for (const auto& [path, t] : trained) out.parameters.at(path) = t;
  return out;
}

Gradients StepObjective::evaluate(const StepInputs& inputs, const random::Key& sample) const {
  Gradients out = num_microbatches_ == 1 ? of_microbatch(inputs, sample) : of_all(inputs, sample);
  out.norm = global_norm(out.by_parameter);
  return out;
}

Gradients StepObjective::of_microbatch(const StepInputs& inputs, const random::Key& sample) const {
  const Tree<Tensor> batch = sample ? with_sampled_targets(spec_, inputs, sample) : inputs.batch;
  const Tree<ParamSpec>& trained = spec_.learner->trained();
  const std::vector<std::string> gradient_state = paths_of_gradient_state(spec_.model);
  Gradients out;
  Values leaves;
  for (const auto& [path, spec] : trained) leaves.push_back(inputs.parameters.at(path));
  for (const std::string& path : gradient_state) leaves.push_back(inputs.layers.at(path));
  // The order of the auxiliary outputs is fixed while the loss is traced.
  const auto [values, by_leaf] = value_and_grad(
      [&](const Values& p) {
        StepInputs traced = inputs;
        size_t i = 0;
        for (const auto& [path, spec] : trained) traced.parameters.at(path) = p[i++];
        for (const std::string& path : gradient_state) traced.layers.at(path) = p[i++];
        auto [output, collected] =
            forward(spec_, traced.parameters, batch, training_options(spec_, traced));
        out.metrics = output.metrics;
        out.metrics.emplace("loss", output.loss);
        put_subtree(out.metrics, "summary", std::move(collected.summaries));
        out.layers = inputs.layers;
        for (auto& [path, t] : collected.state) out.layers.insert_or_assign(path, t);
        Values results{output.loss};
        for (const Tree<Tensor>* tree : {&out.metrics, &out.layers}) {
          for (const auto& [name, t] : *tree) results.push_back(t);
        }
        return results;
      },
      leaves);
  auto at = values.begin();
  out.loss = *at++;
  replace_tensors(out.metrics, at);
  replace_tensors(out.layers, at);
  size_t i = 0;
  for (const auto& [path, spec] : trained)
    out.by_parameter.emplace_hint(out.by_parameter.end(), path, by_leaf[i++]);
  for (const std::string& path : gradient_state) out.layers.at(path) = by_leaf[i++];
  return out;
}

// Each microbatch counts by its number of targets. Gradients are summed in f32 while the loop runs;
// the few numbers of each are stacked and summed behind it.
Gradients StepObjective::of_all(const StepInputs& inputs, const random::Key& sample) const {
  const int64_t n = num_microbatches_;
  const Tree<ParamSpec>& trained = spec_.learner->trained();
  Values init, xs;
  for (const auto& [path, spec] : trained)
    init.push_back(sharding_constraint(zeros(spec.shape), spec.partition()));
  for (const auto& [path, t] : inputs.layers) init.push_back(t);
  for (const auto& [name, t] : inputs.batch) xs.push_back(microbatches_of(spec_, t, n));
  xs.push_back(iota({n}, 0));

  Tree<Tensor> metrics;  // names, and later the values
  const auto body = [&](const Values& carried, const Values& slices) {
    StepInputs own_inputs = inputs;
    auto at = slices.begin();
    replace_tensors(own_inputs.batch, at);
    const Tensor index = *at;
    at = carried.begin() + static_cast<int64_t>(trained.size());
    replace_tensors(own_inputs.layers, at);
    if (own_inputs.key) own_inputs.key = random::fold_in(own_inputs.key, index);
    Gradients own = of_microbatch(own_inputs, sample ? random::fold_in(sample, index) : sample);

    const Tensor weight = weight_of(own.metrics);
    ScanResult next{.carry = {}, .ys = {weight}};
    auto sum = carried.begin();
    for (const auto& [path, gradient] : own.by_parameter)
      next.carry.push_back(*sum++ + weight * astype(gradient, DType::kF32));
    for (const auto& [path, t] : own.layers) next.carry.push_back(t);
    metrics = own.metrics;
    for (const auto& [name, t] : metrics) next.ys.push_back(astype(t, DType::kF32));
    return next;
  };
  const ScanResult done = scan(body, init, xs, n);

  const Tensor weights = done.ys[0], total = sum_of(weights);
  Gradients out;
  auto at = done.carry.begin();
  for (const auto& [path, spec] : trained)
    out.by_parameter.emplace(path, astype(*at++ / total, inputs.parameters.at(path).dtype()));
  out.layers = inputs.layers;
  replace_tensors(out.layers, at);
  out.metrics = metrics;
  at = done.ys.begin() + 1;
  replace_tensors(out.metrics, at);
  out.metrics = of_whole_batch(std::move(out.metrics), weights);
  out.loss = out.metrics.at("loss");
  return out;
}

}  // namespace axle
