#include "train/program/programs.h"

#include <fmt/format.h>

#include <limits>
#include <tuple>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/tree.h"
#include "layers/mesh_axes.h"
#include "layers/mixer.h"
#include "layers/models/model.h"
#include "learn/learner.h"
#include "learn/optimizer_groups.h"
#include "lower/stablehlo.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"
#include "train/program/gradients.h"
#include "train/program/non_finite.h"
#include "train/record/metrics.h"
#include "transform/control_flow/control_flow.h"

namespace axle {
namespace {

constexpr std::string_view kLearnerPath = "learner", kKeyPath = "prng_key";

Tree<Tensor> to_tree(const std::vector<ProgramValue>& leaves, const Tensor* values) {
  Tree<Tensor> out;
  for (size_t i = 0; i < leaves.size(); ++i) out.emplace_hint(out.end(), leaves[i].name, values[i]);
  return out;
}

std::vector<ProgramValue> values_of(const Tree<ParamSpec>& specs, std::string_view prefix = {}) {
  std::vector<ProgramValue> out;
  for (const auto& [path, spec] : specs)
    out.push_back({join_path(prefix, path), spec.type(), spec.partition()});
  return out;
}

// A training state without its key, by what its leaves belong to; also the new state that a step
// computes.
struct SplitState {
  Tree<Tensor> parameters, learner, layers;

  explicit SplitState(const Tree<Tensor>& state)
      : learner(subtree(state, kLearnerPath)), layers(subtree(state, kLayerStatePath)) {
    for (const auto& [path, t] : state) {
      if (path != kKeyPath && !path.starts_with(std::string(kLearnerPath) + "/") &&
          !path.starts_with(std::string(kLayerStatePath) + "/"))
        parameters.emplace_hint(parameters.end(), path, t);
    }
  }
  Tree<Tensor> joined() const {
    Tree<Tensor> out = parameters;
    put_subtree(out, kLearnerPath, learner);
    put_subtree(out, kLayerStatePath, layers);
    return out;
  }
  template <class F>
  void each_field(F&& fn) {
    fn("parameters", parameters);
    fn("learner", learner);
    fn("layers", layers);
  }
};

// Evaluates the objective of the step, and measures of it what the learner needs.
Gradients gradients_of(const ProgramSpec& spec, const SplitState& state, const Tree<Tensor>& batch,
                       const random::Key& forward_key, const random::Key& learner_key) {
  const Learner& learner = *spec.learner;
  const StepObjective objective(
      spec, {.parameters = learner.gradient_point(state.parameters, state.learner),
             .layers = state.layers,
             .batch = batch,
             .key = forward_key});
  Gradients out = objective.gradients();
  out.measured = learner.measure({.objective = objective,
                                  .params = only(state.parameters, learner.trained()),
                                  .state = state.learner,
                                  .step = {},
                                  .key = learner_key});
  return out;
}

// Returns the state after an update, and the learner's metrics.
std::pair<SplitState, Tree<Tensor>> updated(const Learner& learner, const SplitState& state,
                                            const Gradients& gradients) {
  LearnerOutputs out = learner.apply({.params = state.parameters,
                                      .gradients = gradients.by_parameter,
                                      .state = state.learner,
                                      .gradient_norm = gradients.norm,
                                      .measured = gradients.measured});
  SplitState next = state;
  next.parameters = std::move(out.params);
  next.learner = std::move(out.state);
  next.layers = gradients.layers;
  return {std::move(next), std::move(out.metrics)};
}

// Returns the updated state if loss and gradient norm are finite, else the old state. Adds the
// learner's metrics, NaN for an update that was not made. As a branch, the update overwrites the
// old state in place: selecting each new value or its old one would hold both in memory.
SplitState updated_if_finite(const ProgramSpec& spec, const SplitState& before,
                             const Gradients& gradients, Tree<Tensor>& metrics) {
  Tree<Tensor> learned;
  SplitState next = before;
  const TensorFunction update = [&](const Values&) {
    std::tie(next, learned) = updated(*spec.learner, before, gradients);
    Values out = tensors_of(next);
    for (const auto& [name, t] : learned) out.push_back(t);
    return out;
  };
  // Traced after `update`: `learned` has the names of its metrics by then.
  const TensorFunction keep = [&](const Values&) {
    SplitState kept = before;
    Values out = tensors_of(kept);
    for (const auto& [name, t] : learned)
      out.push_back(full(t.shape(), std::numeric_limits<double>::quiet_NaN(), t.dtype()));
    return out;
  };
  const Tensor bad = logical_not(is_finite(gradients.loss) & is_finite(gradients.norm));
  metrics.emplace("skipped", astype(bad, DType::kF32));
  const Values results = switch_case(astype(bad, DType::kI32), {update, keep}, {});
  auto at = results.begin();
  replace_tensors(next, at);
  replace_tensors(learned, at);
  check_learner_metrics(learned, metrics);
  metrics.merge(std::move(learned));
  return next;
}

void append_metrics(const Tree<Tensor>& metrics, Values& results,
                    std::vector<ProgramValue>& outputs) {
  for (const auto& [name, t] : metrics) {
    results.push_back(t);
    outputs.push_back({name, t.type()});
  }
}

}  // namespace

ProgramSpec with_batch(ProgramSpec spec, Tree<Type> batch) {
  spec.batch = std::move(batch);
  std::vector<ProgramValue> inputs = train_state(spec.model, *spec.learner);
  for (ProgramValue& value : batch_inputs(spec)) inputs.push_back(std::move(value));
  check_mesh(spec.mesh, inputs);
  return spec;
}

int64_t num_row_shares(const PartitionSpec& batch_partition, const Mesh& mesh) {
  if (batch_partition.dims.empty()) return 1;
  return num_parts(restrict(batch_partition, mesh).dims[0], mesh);
}

std::vector<ProgramValue> train_state(const Model& model, const Learner& learner) {
  std::vector<ProgramValue> out = values_of(learner.state_specs(), kLearnerPath);
  for (ProgramValue& v : values_of(model.param_specs())) out.push_back(std::move(v));
  for (ProgramValue& v : values_of(model.state_specs(), kLayerStatePath))
    out.push_back(std::move(v));
  out.push_back({std::string(kKeyPath), {DType::kU32, {2}}});
  std::ranges::sort(out, {}, &ProgramValue::name);
  return out;
}

std::vector<ProgramValue> batch_inputs(const ProgramSpec& spec) {
  std::vector<ProgramValue> out;
  for (const auto& [name, type] : spec.batch) {
    PartitionSpec partition = spec.batch_partition;
    if (partition.dims.size() > type.dims.size()) partition.dims.resize(type.dims.size());
    out.push_back({name, type, std::move(partition)});
  }
  return out;
}

namespace {

// Checks the shardings of parameters before those of the learner's state, which sorts before them.
// If one fails, so does the other, and the user knows the name of the parameter.
void check_parameters(const std::vector<ProgramValue>& state, const Mesh& mesh) {
  Mistakes mistakes;
  for (const ProgramValue& value : state) {
    if (value.name.starts_with(kLearnerPath)) continue;
    mistakes.attempt([&] { check_partition(value.name, value.type.dims, value.sharding, mesh); });
  }
  mistakes.throw_any();
}

}  // namespace

Program init_program(const ProgramSpec& spec, const std::set<std::string>& given) {
  const std::vector<ProgramValue> state = train_state(spec.model, *spec.learner);
  check_parameters(state, spec.mesh);
  std::vector<ProgramValue> inputs;
  inputs.push_back({"key", {DType::kU32, {2}}});
  for (const ProgramValue& leaf : state) {
    if (given.contains(leaf.name)) inputs.push_back(leaf);
  }
  const TensorFunction fn = [&](const Values& x) {
    const std::vector<random::Key> keys = random::split_each(random::Key::wrap(x[0]), 2);
    SplitState drawn({});
    drawn.parameters = spec.model.initialize(keys[1]);
    drawn.layers = spec.model.initialize_state(keys[1]);
    Tree<Tensor> all = drawn.joined();
    for (const auto& [name, t] : to_tree({inputs.begin() + 1, inputs.end()}, x.data() + 1))
      all.at(name) = t;
    SplitState begun(all);
    begun.learner = spec.learner->initialize(begun.parameters);
    all = begun.joined();
    all.emplace(kKeyPath, keys[0].data());
    Values out;
    for (const ProgramValue& v : state) out.push_back(all.at(v.name));
    return out;
  };
  return trace_program("init", fn, inputs, state, spec.mesh);
}

namespace {

// Throws ConfigError if the batch has streams of positions and no layer reads them.
void check_position_streams(const Program& step) {
  const auto at = std::ranges::find(step.inputs, kPositionStreams, &ProgramValue::name);
  if (at == step.inputs.end()) return;
  const Tensor& streams = step.graph->parameters()[static_cast<size_t>(at - step.inputs.begin())];
  const auto reads = [&](const OpNode* op) {
    return std::ranges::any_of(op->inputs, [&](const Tensor& x) { return same(x, streams); });
  };
  if (std::ranges::any_of(step.graph->ops(), reads)) return;
  throw ConfigError(
      "input.position_streams: expected a model with a layer that reads them, got none; set the "
      "streams of RoPE, or take them out");
}

}  // namespace

Program step_program(const ProgramSpec& spec, std::vector<CollectedTap>* prints) {
  const std::vector<ProgramValue> state = train_state(spec.model, *spec.learner);
  check_parameters(state, spec.mesh);
  const std::vector<ProgramValue> batch = batch_inputs(spec);
  std::vector<ProgramValue> inputs = state, outputs = state;
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].donated_to = static_cast<int>(i);
  inputs.insert(inputs.end(), batch.begin(), batch.end());
  const FiniteState finite(state);

  const TensorFunction fn = [&](const Values& x) {
    const Tree<Tensor> all = to_tree(state, x.data());
    // Four keys, as in the reference: the next state's key, parameter noise, the forward pass, the
    // learner.
    const std::vector<random::Key> keys =
        random::split_each(random::Key::wrap(all.at(std::string(kKeyPath))), 4);
    const SplitState before(all);
    Gradients gradients =
        gradients_of(spec, before, to_tree(batch, x.data() + state.size()), keys[2], keys[3]);
    Tree<Tensor> metrics = std::move(gradients.metrics);
    Tree<Tensor> next = updated_if_finite(spec, before, gradients, metrics).joined();
    metrics.emplace("not_finite", finite.first_non_finite(next));
    next.emplace(kKeyPath, keys[0].data());
    Values results;
    for (const ProgramValue& v : state) results.push_back(next.at(v.name));
    append_metrics(metrics, results, outputs);
    return results;
  };
  std::vector<CollectedTap> collected;
  Program program = trace_program("train_step", fn, std::move(inputs), outputs, spec.mesh,
                                  prints ? prints : &collected);
  check_constraints(spec.mesh, *program.graph);
  check_position_streams(program);
  return program;
}

Program eval_program(const ProgramSpec& spec, Weights weights) {
  const bool has_pairs = spec.batch.contains("is_pair");
  if (has_pairs && !spec.model.evaluates_frozen(spec.batch)) {
    throw ConfigError(
        "input: expected texts or conversations for this model, got pairs of answers, which it "
        "would take for what it should say, the worse ones too; evaluate a run of train --dpo "
        "beta=0.1, which compares them");
  }
  const std::vector<ProgramValue> parameters = values_of(spec.model.param_specs()),
                                  layers = values_of(spec.model.evaluates_frozen(spec.batch)
                                                         ? spec.model.state_specs()
                                                         : inference_state_specs(spec.model),
                                                     kLayerStatePath),
                                  batch = batch_inputs(spec);
  std::vector<ProgramValue> inputs = parameters, outputs;
  if (weights == Weights::kAverage) {
    for (ProgramValue& average : inputs) {
      average.name = join_path(join_path(kLearnerPath, "ema"), average.name);
      average.type.dtype = DType::kF32;
    }
  }
  inputs.insert(inputs.end(), layers.begin(), layers.end());
  inputs.insert(inputs.end(), batch.begin(), batch.end());
  const TensorFunction fn = [&](const Values& x) {
    const Tensor *first_layer = x.data() + parameters.size(),
                 *first_batch = first_layer + layers.size();
    Tree<Tensor> read = to_tree(parameters, x.data());
    for (const ProgramValue& v : parameters)
      read.at(v.name) = astype(read.at(v.name), v.type.dtype);
    Values results;
    append_metrics(
        evaluated_metrics(spec, read, subtree(to_tree(layers, first_layer), kLayerStatePath),
                          to_tree(batch, first_batch)),
        results, outputs);
    return results;
  };
  return trace_program("eval_step", fn, inputs, outputs, spec.mesh);
}

DebugPrints::DebugPrints(std::vector<CollectedTap> prints, size_t num_outputs)
    : prints_(std::move(prints)) {
  for (const CollectedTap& print : prints_) size_ += print.results.size() + (print.ran ? 1 : 0);
  first_ = num_outputs - size_;
}

std::vector<std::string> DebugPrints::lines(std::span<const ArrayPtr> values) const {
  std::vector<HostTensor> results(first_);
  for (const ArrayPtr& value : values) results.push_back(value->to_host());
  std::vector<std::string> out;
  for (const CollectedTap& print : prints_) {
    for (std::string& line : printed_lines(print, results)) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace axle
