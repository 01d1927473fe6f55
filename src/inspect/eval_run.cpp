#include "inspect/eval_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text_table.h"
#include "base/text/units.h"
#include "config/missing.h"
#include "inspect/eval_config.h"
#include "layers/check_mesh.h"
#include "pjrt/make_runtime.h"
#include "recipes/fine_tune.h"
#include "runtime/host_needs.h"
#include "runtime/mesh_devices.h"
#include "train/config/trainer_config.h"
#include "train/programs.h"
#include "train/record/progress.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// Copies the parameters and the state of layers to the device: the program's leading arguments.
Arrays on_device(Tree<HostTensor> parameters, const Program& program, Runtime& runtime) {
  Arrays out;
  for (const ProgramValue& input : program.inputs) {
    if (!input.name.starts_with("model/") && !input.name.starts_with("state/")) continue;
    const auto node = parameters.extract(input.name);  // frees the host's copy
    if (node.empty()) {
      throw ConfigError(
          fmt::format("{}: expected it in the folder, which an evaluation of these data reads, got "
                      "none; evaluate a checkpoint of the run",
                      input.name));
    }
    out.push_back(runtime.make_array(node.mapped(), input.sharding, program.mesh));
  }
  return out;
}

UseData use_of(const std::vector<std::string>& data) {
  AXLE_CHECK(!data.empty(), "an evaluation needs data");
  return {.data = data[0], .more = {data.begin() + 1, data.end()}};
}

// All that an evaluation needs besides the checkpoint's numbers, made from the checkpoint's config.
struct Evaluation {
  Evaluation(const EvalRunOptions& options, const ModelConfig& trained)
      : resolved(resolve_evaluation(trained, use_of(options.data), options.edits)) {
    take_chat_template(options.dir.path, resolved.config);
    const Trainer::Config& config = resolved.config;
    check_complete(config.model, "model");
    check_complete(config.input, "input");
    model = config.model.build({}, Scope{.path = "model"});
    const Input::Dims dims{.vocab_size = model->vocab_size(),
                           .seed = static_cast<uint64_t>(config.seed)};
    const auto open = [&] { input = config.input.build(dims, Scope{.path = "input"}); };
    open();
    check_not_endless(*input, "input");
    runtime =
        make_runtime({.backend = options.backend,
                      .num_devices = options.num_devices.value_or(num_mesh_devices(options.mesh))});
    const Mesh mesh = fit_mesh(options.mesh, runtime->topology(), options.num_devices);
    if (fit_rows(resolved, input->facts(), mesh.num_devices())) open();
    program = eval_program({.model = *model,
                            .batch = input->element_spec(),
                            .mesh = mesh,
                            .batch_partition = config.batch_partition,
                            .compute_dtype = config.compute_dtype});
    check_mesh(mesh, program.inputs);
  }

  ResolvedEvaluation resolved;
  std::unique_ptr<Model> model;
  std::unique_ptr<Input> input;
  std::unique_ptr<Runtime> runtime;
  Program program;
};

}  // namespace

RunEvaluation evaluate_run(const EvalRunOptions& options) {
  Progress progress(0, 1, STDERR_FILENO);  // the result is on standard output
  constexpr double kFirstLineSecs = 5;
  std::optional<Evaluation> evaluation;
  std::optional<LongWait> wait;
  const auto begin = [&](const std::string& what) {
    wait.reset();
    wait.emplace(progress, what, 0, kFirstLineSecs);
  };
  begin("reading the data and the model");
  const auto specs_of = [&](const ModelConfig& trained) {
    evaluation.reset();  // before another client takes the devices
    evaluation.emplace(options, trained);
    return stored_specs(*evaluation->model);
  };
  ModelParameters saved = load_parameters(options.dir, specs_of, options.weights);
  const auto& [resolved, model, input, runtime, program] = *evaluation;
  const Arrays parameters = on_device(std::move(saved.by_path), program, *runtime);
  begin("compiling the evaluation");
  const auto& compiler_options = resolved.config.compiler_options;
  const auto executable =
      runtime->compile(program, {.overrides = {compiler_options.begin(), compiler_options.end()},
                                 .cache_dir = options.compile_cache});
  check_program_memory({"the evaluation", executable.get()}, program.mesh.num_devices(),
                       runtime->topology().platform);
  begin("evaluating");
  return {saved.step, join(options.data, ", "),
          evaluate_input(*input, *executable, program, *runtime, parameters, *wait).value(),
          input->facts(), resolved.report};
}

void check_finite(const RunEvaluation& evaluation) {
  const std::string name = first_non_finite(evaluation.result.metrics);
  if (name.empty()) return;
  throw Error(
      fmt::format("{} after step {}: expected finite metrics, got {} = {}; "
                  "finite parameters can still be too large",
                  evaluation.data, evaluation.step, name, evaluation.result.metrics.at(name)),
      ExitCode::kValidationFailed);
}

std::string to_text(const RunEvaluation& evaluation) {
  const EvalResult& r = evaluation.result;
  std::string out;
  if (const std::string found = to_text(evaluation.facts); !found.empty())
    out += "data: " + found + "\n";
  out += fmt::format("{} after step {}: {}", evaluation.data, evaluation.step, to_text(r));
  out += fmt::format("; {} {}", grouped_digits(r.num_targets), plural(r.num_targets, "target"));
  if (r.num_bytes > 0)
    out += fmt::format(", {} {}", grouped_digits(r.num_bytes), plural(r.num_bytes, "byte"));
  return out + "\n";
}

Json to_json(const RunEvaluation& evaluation) {
  const EvalResult& r = evaluation.result;
  Json out = {{"step", evaluation.step},
              {"data", evaluation.data},
              {"num_files", evaluation.facts.num_files},
              {"num_skipped", evaluation.facts.skipped.count},
              {"skipped", evaluation.facts.skipped.reasons},
              {"num_targets", r.num_targets},
              {"num_bytes", r.num_bytes}};
  out["byte_entropy_bits"] = r.byte_entropy_bits > 0 ? Json(r.byte_entropy_bits) : Json(nullptr);
  out["metrics"] = r.metrics;
  return out;
}

}  // namespace axle
