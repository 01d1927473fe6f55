#include "inspect/eval_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/restore.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "inspect/text_table.h"
#include "io/file.h"
#include "recipes/use_data.h"
#include "train/device_state.h"
#include "train/programs.h"
#include "train/trainer.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

Trainer::Config read_config(const std::filesystem::path& dir) {
  const auto file = dir / "config.yaml";
  if (!path_exists(file)) throw ConfigError(fmt::format("{}: expected the folder of a run, with config.yaml; got none there", dir.string()));
  Trainer::Config config;
  from_yaml(config, read_file(file));
  return config;
}

// The training input over all of the text once, in its order.
Child<Input> whole_text(Trainer::Config config, const std::string& data) {
  use_data(config, data);
  for_each_config<TextInput>(config.input, [](const std::string&, TextInput::Config& input) {
    input.split = Split::kAll;
    input.shuffle = Shuffle::kNone;
    input.epochs = 1;
  });
  for_each_config<SyntheticInput>(config.input, [](const std::string&, SyntheticInput::Config& input) { input.num_batches = kSyntheticEvalBatches; });
  return config.input;
}

}  // namespace

RunEvaluation evaluate_run(const EvalRunOptions& options) {
  const Trainer::Config config = read_config(options.dir);
  const auto model = config.model.build({}, Scope{.path = "model"});
  const Tree<ParamSpec> params = model->param_specs();
  const auto learner = config.learner.build({.params = params}, Scope{.path = "learner"});
  const Input::Dims dims{.vocab_size = model->vocab_size(), .seed = static_cast<uint64_t>(config.seed)};
  const auto input = whole_text(config, options.data).build(dims, Scope{.path = "input"});

  const auto runtime = make_runtime(options.runtime);
  const Mesh mesh = infer_mesh(options.mesh, static_cast<int64_t>(runtime->topology().devices.size()));
  DeviceState state{.leaves = train_state(*model, *learner), .arrays = {}};
  auto restored = restore_arrays(options.dir / "checkpoints", *runtime, mesh, state.leaves);
  if (!restored) throw ConfigError(fmt::format("{}: expected a checkpoint, got none; train first", options.dir.string()));
  state.arrays = std::move(restored->arrays);

  const ProgramParts parts{.model = *model, .learner = *learner, .batch = input->element_spec(), .mesh = mesh,
                           .batch_partition = config.batch_partition, .compute_dtype = config.compute_dtype};
  const Program program = eval_program(parts);
  const auto executable = runtime->compile(program, {.cache_dir = options.compile_cache});
  return {restored->step, options.data, evaluate_input(*input, *executable, program, *runtime, state.below("model"), config.batch_partition)};
}

std::string to_text(const RunEvaluation& evaluation) {
  const EvalResult& r = evaluation.result;
  std::string out = fmt::format("{} after step {}: loss {:.4f}", evaluation.data, evaluation.step, r.metrics.at("loss"));
  if (const auto bits = r.metrics.find("bits_per_byte"); bits != r.metrics.end()) {
    out += fmt::format(", {:.3f} bits per byte (entropy of the text's own bytes: {:.3f})", bits->second, r.byte_entropy_bits);
  }
  out += fmt::format("; {} targets", grouped_digits(r.num_targets));
  if (r.num_bytes > 0) out += fmt::format(", {} bytes", grouped_digits(r.num_bytes));
  return out + "\n";
}

Json to_json(const RunEvaluation& evaluation) {
  const EvalResult& r = evaluation.result;
  Json out = {{"step", evaluation.step}, {"data", evaluation.data}, {"num_targets", r.num_targets}, {"num_bytes", r.num_bytes}};
  out["byte_entropy_bits"] = r.byte_entropy_bits > 0 ? Json(r.byte_entropy_bits) : Json(nullptr);
  out["metrics"] = r.metrics;
  return out;
}

}  // namespace axle
