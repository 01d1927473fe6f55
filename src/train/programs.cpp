#include "train/programs.h"

#include <fmt/format.h>

#include "base/error.h"
#include "layers/check_mesh.h"
#include "learn/subtree.h"
#include "lower/trace_program.h"
#include "nn/functional.h"
#include "ops/annotate.h"
#include "ops/convert.h"
#include "ops/random.h"
#include "transform/grad.h"

namespace axle {
namespace {

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

Tree<Tensor> cast_floats(const Tree<Tensor>& tree, const std::optional<DType>& dtype) {
  Tree<Tensor> out;
  for (const auto& [path, t] : tree)
    out.emplace_hint(out.end(), path, dtype && is_float(t.dtype()) ? astype(t, *dtype) : t);
  return out;
}

// As the layers are given them. Each stays as it is laid out while it is cast, so that only the
// narrow form is ever gathered.
Tree<Tensor> working_parameters(const ProgramParts& parts, const Tree<Tensor>& parameters) {
  Tree<Tensor> out = cast_floats(parameters, parts.compute_dtype);
  if (!parts.compute_dtype) return out;
  for (const auto& [path, spec] : parts.model.param_specs())
    out.at(path) = sharding_constraint(out.at(path), spec.partition());
  return out;
}

// The forward pass and what it collected.
std::pair<ModelOutput, OutputCollection> forward(const ProgramParts& parts,
                                                 const Tree<Tensor>& parameters,
                                                 const Tree<Tensor>& batch,
                                                 InvocationOptions options) {
  auto out = functional(parts.model, working_parameters(parts, parameters), std::move(options),
                        [&] { return parts.model(cast_floats(batch, parts.compute_dtype)); });
  if (!out.second.aux_losses.empty()) {
    throw ConfigError(
        fmt::format("{}: aux loss reaches no objective; the model must add it to its loss",
                    out.second.aux_losses.begin()->first));
  }
  return out;
}

void append_metrics(const Tree<Tensor>& metrics, Values& results,
                    std::vector<ProgramValue>& outputs) {
  for (const auto& [name, t] : metrics) {
    results.push_back(t);
    outputs.push_back({name, t.type()});
  }
}

}  // namespace

std::vector<ProgramValue> train_state(const Model& model, const Learner& learner) {
  std::vector<ProgramValue> out = values_of(learner.state_specs(), "learner");
  for (ProgramValue& v : values_of(model.param_specs())) out.push_back(std::move(v));
  out.push_back({"prng_key", {DType::kU32, {2}}});
  std::ranges::sort(out, {}, &ProgramValue::name);
  return out;
}

std::vector<ProgramValue> batch_inputs(const ProgramParts& parts) {
  std::vector<ProgramValue> out;
  for (const auto& [name, type] : parts.batch) {
    PartitionSpec spec = parts.batch_partition;
    if (spec.dims.size() > type.dims.size()) spec.dims.resize(type.dims.size());
    out.push_back({name, type, std::move(spec)});
  }
  return out;
}

Program init_program(const ProgramParts& parts, InitialParameters from) {
  const std::vector<ProgramValue> state = train_state(parts.model, *parts.learner);
  const bool given = from == InitialParameters::kGiven;
  std::vector<ProgramValue> inputs, parameters;
  inputs.push_back({"key", {DType::kU32, {2}}});
  if (given) parameters = values_of(parts.model.param_specs());
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const TensorFunction fn = [&](const Values& x) {
    const Values keys = random::split_each(x[0], 2);
    Tree<Tensor> all = given ? to_tree(parameters, x.data() + 1) : parts.model.initialize(keys[1]);
    put_subtree(all, "learner", parts.learner->initialize(Tree<Tensor>(all)));
    all.emplace("prng_key", keys[0]);
    Values out;
    for (const ProgramValue& v : state) out.push_back(all.at(v.name));
    return out;
  };
  return trace_program("init", fn, std::move(inputs), state, parts.mesh);
}

Program step_program(const ProgramParts& parts) {
  const std::vector<ProgramValue> state = train_state(parts.model, *parts.learner);
  const std::vector<ProgramValue> batch = batch_inputs(parts);
  std::vector<ProgramValue> inputs = state, outputs = state;
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].donated_to = static_cast<int>(i);
  inputs.insert(inputs.end(), batch.begin(), batch.end());

  const TensorFunction fn = [&](const Values& x) {
    const Tree<Tensor> all = to_tree(state, x.data());
    const Tree<Tensor> batch_tensors = to_tree(batch, x.data() + state.size());
    const Tree<Tensor> learner_state = subtree(all, "learner");
    Tree<Tensor> parameters;
    for (const auto& [path, t] : all) {
      if (path != "prng_key" && !path.starts_with("learner/"))
        parameters.emplace_hint(parameters.end(), path, t);
    }
    // Four keys, as the reference: the state's next, parameter noise, the forward pass, the
    // learner.
    const Values keys = random::split_each(all.at("prng_key"), 4);

    Tree<Tensor>
        metrics;  // types and order of the auxiliary outputs, filled while tracing the loss
    Values leaves;
    for (const auto& [path, t] : parameters) leaves.push_back(t);
    const auto [values, gradient_leaves] = value_and_grad(
        [&](const Values& p) {
          Tree<Tensor> traced;
          size_t i = 0;
          for (const auto& [path, t] : parameters) traced.emplace_hint(traced.end(), path, p[i++]);
          auto [output, collected] = forward(parts, traced, batch_tensors,
                                             {.training = true,
                                              .key = keys[2],
                                              .summaries = parts.layer_summaries,
                                              .mesh = parts.mesh});
          metrics = output.metrics;
          metrics.insert_or_assign("loss", output.loss);
          put_subtree(metrics, "summary", std::move(collected.summaries));
          Values out{output.loss};
          for (const auto& [name, t] : metrics) out.push_back(t);
          return out;
        },
        leaves);
    Tree<Tensor> gradients;
    size_t i = 0;
    for (const auto& [path, t] : parameters)
      gradients.emplace_hint(gradients.end(), path, gradient_leaves[i++]);
    i = 1;
    for (auto& [name, t] : metrics) t = values[i++];

    LearnerOutputs learned = parts.learner->apply(
        {.params = parameters, .gradients = gradients, .state = learner_state, .loss = values[0]});
    for (auto& [name, t] : learned.metrics) metrics.insert_or_assign(name, t);
    Tree<Tensor> next = std::move(learned.params);
    put_subtree(next, "learner", std::move(learned.state));
    next.emplace("prng_key", keys[0]);
    Values results;
    for (const ProgramValue& v : state) results.push_back(next.at(v.name));
    append_metrics(metrics, results, outputs);
    return results;
  };
  Program program = trace_program("train_step", fn, std::move(inputs), outputs, parts.mesh);
  check_constraints(parts.mesh, *program.graph);
  return program;
}

Program eval_program(const ProgramParts& parts) {
  std::vector<ProgramValue> inputs = values_of(parts.model.param_specs()), outputs;
  const size_t num_parameters = inputs.size();
  const std::vector<ProgramValue> batch = batch_inputs(parts);
  inputs.insert(inputs.end(), batch.begin(), batch.end());
  const TensorFunction fn = [&](const Values& x) {
    const std::vector<ProgramValue> parameters(
        inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(num_parameters));
    auto [output, collected] =
        forward(parts, to_tree(parameters, x.data()), to_tree(batch, x.data() + num_parameters),
                {.summaries = false});
    output.metrics.insert_or_assign("loss", output.loss);
    Values results;
    append_metrics(output.metrics, results, outputs);
    return results;
  };
  return trace_program("eval_step", fn, inputs, outputs, parts.mesh);
}

}  // namespace axle
