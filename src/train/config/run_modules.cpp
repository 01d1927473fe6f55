#include "train/config/run_modules.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/construction.h"
#include "config/missing.h"
#include "nn/init_rules.h"
#include "train/record/summary_writer.h"

namespace axle {
namespace {

// Two writers in one folder would each take the other's points for those of an earlier run.
void check_writers(const NamedMap<Child<SummaryWriter>>& writers) {
  std::string first;
  for (const auto& [name, writer] : writers) {
    if (!writer.get_if<TensorBoardWriter>()) continue;
    if (first.empty()) {
      first = name;
      continue;
    }
    throw ConfigError(fmt::format(
        "writers['{}'] and writers['{}']: expected one TensorBoardWriter, because each writes the "
        "folder tensorboard, got two",
        first, name));
  }
}

// Returns the parameters of the model and of the models in it that training does not change.
Tree<ParamSpec> with_frozen(Tree<ParamSpec> params, const Model* model) {
  if (!model) return params;
  for (const Model* frozen : model->frozen_models()) params.merge(frozen->param_specs());
  return params;
}

Trainer::Config complete(Trainer::Config config) {
  complete_evaler_inputs(config);
  check_complete(config);
  return config;
}

}  // namespace

Tree<ParamSpec> declared_params(const Child<Model>& model) {
  Construction scratch;  // the mistakes are told elsewhere
  scratch.keep_unsound();
  try {
    const auto built = model.build({}, {.path = "model", .construction = &scratch});
    return built ? built->param_specs() : Tree<ParamSpec>();
  } catch (const Error&) {
    return {};
  }
}

RunModules::RunModules(const Trainer::Config& cfg) : config(complete(cfg)) {
  Construction construction;
  construction.attempt([&] { check_writers(config.writers); });
  model = config.model.build({}, {.path = "model", .construction = &construction});
  // Without parameters, the learner checks all but its patterns of their paths.
  const Tree<ParamSpec> params = model ? model->param_specs() : declared_params(config.model);
  construction.attempt(
      [&] { check_rules_match(config.model, "model", with_frozen(params, model.get())); });
  learner = config.learner.build({.params = params, .run_steps = *config.max_steps},
                                 {.path = "learner", .construction = &construction});
  if (model && learner) {
    for (const std::string& path : model->read_by_frozen()) {
      if (!learner->trained().contains(path)) continue;
      construction.note(ConfigError(fmt::format(
          "model.own: expected patterns of all parameters that are trained, because a frozen model "
          "reads the others, got none of {}; add it, or freeze it",
          path)));
      break;
    }
  }
  construction.throw_any();
  input_dims = {.vocab_size = model->vocab_size(), .seed = static_cast<uint64_t>(config.seed)};
}

std::unique_ptr<Input> RunModules::make_input() const {
  return config.input.build(input_dims, Scope{.path = "input"});
}

ProgramSpec RunModules::program_spec(const Mesh& mesh, const Tree<Type>& batch) const {
  return with_batch(evaluated_on(mesh).spec, batch);
}

EvaluatedRun RunModules::evaluated_on(const Mesh& mesh) const {
  EvaluatedRun out{.input = config.input,
                   .learner = config.learner,
                   .input_dims = input_dims,
                   .spec = {.model = *model,
                            .learner = learner.get(),
                            .batch = {},
                            .mesh = mesh,
                            .batch_partition = config.batch_partition,
                            .compute_dtype = config.compute_dtype,
                            .layer_summaries = config.layer_summaries}};
  for (const auto& [name, evaler] : config.evalers) out.evalers.push_back(name);
  return out;
}

}  // namespace axle
