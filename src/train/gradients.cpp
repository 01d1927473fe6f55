#include "train/gradients.h"

#include <fmt/format.h>

#include "base/error.h"
#include "layers/pipeline/stage_loop.h"
#include "learn/learner.h"
#include "nn/functional.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/products/einsum.h"
#include "ops/random/random.h"
#include "ops/reductions/reduce.h"
#include "train/batch_parts.h"
#include "train/record/metric_names.h"
#include "transform/control_flow/scan.h"
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
Tree<Tensor> working_parameters(const ProgramParts& parts, const Tree<Tensor>& parameters) {
  Tree<Tensor> out = cast_floats(parameters, parts.compute_dtype);
  for (const auto& [path, spec] : parts.model.param_specs()) {
    Tensor& working = out.at(path);
    if (spec.compute && is_float(working.dtype()))
      working = astype(parameters.at(path), *spec.compute);
    if (spec.compute || parts.compute_dtype)
      working = sharding_constraint(working, spec.partition());
  }
  return out;
}

InvocationOptions training_options(const ProgramParts& parts, const StepInputs& inputs) {
  return {.training = true,
          .key = inputs.key,
          .state = inputs.layers,
          .summaries = parts.layer_summaries,
          .compute_dtype = parts.compute_dtype,
          .mesh = parts.mesh};
}

// Returns the batch with targets that the model draws itself, where the batch has targets.
Tree<Tensor> with_sampled_targets(const ProgramParts& parts, const StepInputs& inputs,
                                  const random::Key& key) {
  Tree<Tensor> batch = inputs.batch;
  const auto labels = batch.find(kTargets);
  if (labels == batch.end()) {
    throw ConfigError(fmt::format(
        "{}: expected a model of tokens, whose batches hold {}, got none; the optimizer lets the "
        "model draw targets",
        parts.model.path(), kTargets));
  }
  const Tensor logits_BTV =
      functional(parts.model, working_parameters(parts, inputs.parameters),
                 training_options(parts, inputs),
                 [&] { return parts.model.logits(cast_floats(batch, parts.compute_dtype)); })
          .first;
  const Tensor drawn_BT = random::categorical(key, astype(logits_BTV, DType::kF32));
  labels->second =
      select(labels->second >= 0, astype(drawn_BT, labels->second.dtype()), labels->second);
  return batch;
}

// Splits [B, ..] into the n parts of a batch.
Tensor parts_of(const ProgramParts& parts, const Tensor& x, int64_t n) {
  PartitionSpec axes = parts.batch_partition;
  axes.dims.resize(std::min(axes.dims.size(), x.shape().size()));
  axes.dims.insert(axes.dims.begin(), kReplicated);
  return sharding_constraint(split_rows(x, n), axes);
}

// The number of parts of a batch. The devices that share the dim of the rows share those of each
// part.
int64_t num_parts_of_batch(const ProgramParts& parts,
                           int64_t (Learner::*parts_of)(int64_t rows, int64_t shares) const) {
  int64_t rows = 0;
  for (const auto& [name, type] : parts.batch) {
    if (!type.dims.empty()) rows = std::max(rows, type.dims[0]);
  }
  return (parts.learner->*parts_of)(rows, num_row_shares(parts.batch_partition, parts.mesh));
}

// The state of layers that is a gradient (StateUpdate::kGradient).
std::vector<std::string> paths_of_gradient_state(const Model& model) {
  std::vector<std::string> out;
  for (const auto& [path, spec] : model.state_specs()) {
    if (spec.update == StateUpdate::kGradient) out.push_back(path);
  }
  return out;
}

// Parts count by their numbers of targets.
Tensor weight_of(const Tree<Tensor>& metrics) {
  const auto targets = metrics.find(kNumTargets);
  return targets == metrics.end() ? scalar(1) : astype(targets->second, DType::kF32);
}

Tensor sum_of(const Tensor& weights) { return maximum(sum(weights), 1); }

// Returns the metrics of a batch from those of its parts, which are stacked.
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

std::pair<ModelOutput, OutputCollection> forward(const ProgramParts& parts,
                                                 const Tree<Tensor>& parameters,
                                                 const Tree<Tensor>& batch,
                                                 InvocationOptions options) {
  options.compute_dtype = parts.compute_dtype;
  auto out = functional(parts.model, working_parameters(parts, parameters), std::move(options),
                        [&] { return parts.model(cast_floats(batch, parts.compute_dtype)); });
  if (!out.second.aux_losses.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected the model to add this aux loss to its loss, got a loss without it",
        out.second.aux_losses.begin()->first));
  }
  check_model_metrics(parts.model.path(), out.first.metrics);
  return out;
}

Tree<Tensor> evaluated_metrics(const ProgramParts& parts, const Tree<Tensor>& parameters,
                               const Tree<Tensor>& layers, const Tree<Tensor>& batch) {
  const auto of_part = [&](const Tree<Tensor>& part) {
    ModelOutput out = forward(parts, parameters, part, {.state = layers, .summaries = false}).first;
    out.metrics.emplace("loss", out.loss);
    return out.metrics;
  };
  const int64_t n =
      parts.learner ? num_parts_of_batch(parts, &Learner::evaluated_parts) : int64_t{1};
  if (n == 1) return of_part(batch);
  Values xs;
  for (const auto& [name, t] : batch) xs.push_back(parts_of(parts, t, n));
  Tree<Tensor> metrics;  // names, and later the values
  const auto body = [&](const Values&, const Values& slices) {
    Tree<Tensor> part = batch;
    auto at = slices.begin();
    replace_tensors(part, at);
    metrics = of_part(part);
    ScanResult out{.carry = {}, .ys = {weight_of(metrics)}};
    for (const auto& [name, t] : metrics) out.ys.push_back(astype(t, DType::kF32));
    return out;
  };
  const Values stacked = scan(body, {}, xs, n).ys;
  auto at = stacked.begin() + 1;
  replace_tensors(metrics, at);
  return of_whole_batch(std::move(metrics), stacked[0]);
}

StepObjective::StepObjective(const ProgramParts& parts, StepInputs inputs)
    : parts_(parts),
      inputs_(std::move(inputs)),
      num_parts_(num_parts_of_batch(parts, &Learner::microbatches)) {
  for (const auto& [path, spec] : parts_.model.state_specs()) {
    if (spec.update == StateUpdate::kStepStart)
      inputs_.layers.at(path) = full_like(inputs_.layers.at(path), 1.0);
  }
  const int64_t n = num_parts_;
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
  Gradients out = num_parts_ == 1 ? of_part(inputs, sample) : of_parts(inputs, sample);
  out.norm = global_norm(out.by_parameter);
  return out;
}

Gradients StepObjective::of_part(const StepInputs& inputs, const random::Key& sample) const {
  const Tree<Tensor> batch = sample ? with_sampled_targets(parts_, inputs, sample) : inputs.batch;
  const Tree<ParamSpec>& trained = parts_.learner->trained();
  const std::vector<std::string> gradient_state = paths_of_gradient_state(parts_.model);
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
            forward(parts_, traced.parameters, batch, training_options(parts_, traced));
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

// Each part counts by its number of targets. Gradients are summed in f32 while the loop runs; the
// few numbers of each part are stacked and summed behind it.
Gradients StepObjective::of_parts(const StepInputs& inputs, const random::Key& sample) const {
  const int64_t n = num_parts_;
  const Tree<ParamSpec>& trained = parts_.learner->trained();
  Values init, xs;
  for (const auto& [path, spec] : trained)
    init.push_back(sharding_constraint(zeros(spec.shape), spec.partition()));
  for (const auto& [path, t] : inputs.layers) init.push_back(t);
  for (const auto& [name, t] : inputs.batch) xs.push_back(parts_of(parts_, t, n));
  xs.push_back(iota({n}, 0));

  Tree<Tensor> metrics;  // names, and later the values
  const auto body = [&](const Values& carried, const Values& slices) {
    StepInputs part = inputs;
    auto at = slices.begin();
    replace_tensors(part.batch, at);
    const Tensor index = *at;
    at = carried.begin() + static_cast<int64_t>(trained.size());
    replace_tensors(part.layers, at);
    if (part.key) part.key = random::fold_in(part.key, index);
    Gradients own = of_part(part, sample ? random::fold_in(sample, index) : sample);

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
