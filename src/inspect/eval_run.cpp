#include "inspect/eval_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "config/document/serialize.h"
#include "config/missing.h"
#include "config/walk.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "layers/check_mesh.h"
#include "pjrt/make_runtime.h"
#include "recipes/resolve.h"
#include "recipes/use_data.h"
#include "runtime/host_needs.h"
#include "runtime/mesh_devices.h"
#include "train/programs.h"
#include "train/trainer.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kBatchSize = 8;  // for imported models, whose configs have no batch size

// Makes the training input read all of the text once, in order.
void take_whole_text(Trainer::Config& config) {
  for_each_config<TextInput>(config.input, [](const std::string&, TextInput::Config& input) {
    input.split = Split::kAll;
    input.shuffle = Shuffle::kNone;
    input.epochs = 1;
    if (!input.batch_size.has_value()) input.batch_size = kBatchSize;
  });
}

void complete_synthetic(Trainer::Config& config) {
  for_each_config<SyntheticInput>(config.input,
                                  [](const std::string&, SyntheticInput::Config& input) {
                                    if (!input.num_batches)
                                      input.num_batches = kSyntheticEvalBatches;
                                    if (!input.batch_size.has_value())
                                      input.batch_size = kBatchSize;
                                  });
}

// Throws for a field that an evaluation does not read: setting it would have no effect.
void check_is_read(const std::string& path) {
  static const std::vector<std::string> kRead = {
      "batch_partition", "compiler_options", "compute_dtype", "input", "model", "seed"};
  if (std::ranges::count(kRead, path.substr(0, path.find_first_of(".[")))) return;
  throw ConfigError(fmt::format(
      "--set {}: expected a field that an evaluation reads (of {}), got one of training{}", path,
      join(kRead, ", "), path == "mesh" ? "; say --mesh" : ""));
}

// Resolves the run's config: sets its input to read all of the text, then applies the edits. An
// edit that replaces the input only by the name of a class applies first.
Resolved read_config(const EvalRunOptions& options) {
  Json document = read_model_config(options.dir);
  if (document.is_object()) document.erase("evalers");  // they would have to agree with the input
  ResolveRequest request{.files = {{(options.dir / "config.yaml").string(), yaml_text(document)}}};
  std::vector<Edit> later;
  for (const Edit& edit : options.edits) {
    const auto* const field = std::get_if<SetField>(&edit);
    if (field) check_is_read(field->path);
    const bool names_input =
        field && field->path == "input" && field->text.find('{') == std::string::npos;
    (names_input ? request.edits : later).push_back(edit);
  }
  const bool synthetic = options.data == kSyntheticData;
  later.insert(synthetic ? later.begin() : later.end(), UseData{options.data});
  Resolved first = resolve_config(request);
  take_whole_text(first.config);
  request.files[0].text = yaml_text(to_json(first.config));
  request.edits = later;
  Resolved out = resolve_config(request);
  complete_synthetic(out.config);
  std::ranges::move(out.report.replaced, std::back_inserter(first.report.replaced));
  out.report.replaced = std::move(first.report.replaced);
  return out;
}

// Copies the parameters and the state of layers to the device: the program's leading arguments.
Arrays on_device(Tree<HostTensor> parameters, const Program& program, Runtime& runtime) {
  Arrays out;
  for (const ProgramValue& input : program.inputs) {
    if (!input.name.starts_with("model/") && !input.name.starts_with("state/")) continue;
    const auto node = parameters.extract(input.name);  // frees the host's copy
    out.push_back(runtime.make_array(node.mapped(), input.sharding, program.mesh));
  }
  return out;
}

}  // namespace

RunEvaluation evaluate_run(const EvalRunOptions& options) {
  const Resolved resolved = read_config(options);
  const Trainer::Config& config = resolved.config;
  check_complete(config.model, "model");
  check_complete(config.input, "input");
  const auto model = config.model.build({}, Scope{.path = "model"});
  const Tree<ParamSpec> params = model->param_specs();
  const Input::Dims dims{.vocab_size = model->vocab_size(),
                         .seed = static_cast<uint64_t>(config.seed)};
  const auto input = config.input.build(dims, Scope{.path = "input"});
  check_ends(*input, "input");

  const auto runtime =
      make_runtime({.backend = options.backend,
                    .num_devices = options.num_devices.value_or(mesh_devices(options.mesh))});
  const Mesh mesh = mesh_over(options.mesh, runtime->topology(), options.num_devices);
  const ProgramParts parts{.model = *model,
                           .batch = input->element_spec(),
                           .mesh = mesh,
                           .batch_partition = config.batch_partition,
                           .compute_dtype = config.compute_dtype};
  const Program program = eval_program(parts);
  check_mesh(mesh, program.inputs);
  ModelParameters saved = load_parameters(options.dir, stored_specs(*model), options.weights);
  const Arrays parameters = on_device(std::move(saved.by_path), program, *runtime);
  const auto executable = runtime->compile(
      program, {.overrides = {config.compiler_options.begin(), config.compiler_options.end()},
                .cache_dir = options.compile_cache});
  check_program_room({"the evaluation", executable.get()}, mesh.num_devices(),
                     runtime->topology().platform);
  return {saved.step, options.data,
          evaluate_input(*input, *executable, program, *runtime, parameters).value(),
          input->facts(), resolved.report};
}

void check_finite(const RunEvaluation& evaluation) {
  const std::string name = not_finite(evaluation.result);
  if (name.empty()) return;
  throw Error(
      fmt::format("{} after step {}: expected finite metrics, got {} = {}; "
                  "parameters may each be finite and still too large",
                  evaluation.data, evaluation.step, name, evaluation.result.metrics.at(name)),
      ExitCode::kValidationFailed);
}

std::string to_text(const RunEvaluation& evaluation) {
  const EvalResult& r = evaluation.result;
  std::string out;
  if (const std::string found = to_text(evaluation.facts); !found.empty())
    out += "data: " + found + "\n";
  out += fmt::format("{} after step {}: {}", evaluation.data, evaluation.step, to_text(r));
  out += fmt::format("; {} targets", grouped_digits(r.num_targets));
  if (r.num_bytes > 0) out += fmt::format(", {} bytes", grouped_digits(r.num_bytes));
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
