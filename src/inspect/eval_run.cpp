#include "inspect/eval_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "config/missing.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "data/chat/chat_input.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/token_input.h"
#include "evaluate/task/task.h"
#include "infer/generator.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "layers/mesh_axes.h"
#include "pjrt/pjrt_runtime.h"
#include "recipes/fine_tune.h"
#include "recipes/resolve/use_data.h"
#include "runtime/memory_estimate.h"
#include "runtime/mesh_devices.h"
#include "train/config/trainer_config.h"
#include "train/program/programs.h"
#include "train/record/progress.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// For imported models, which were made without a batch size.
constexpr int64_t kBatchSize = 8;
// Several conversations share a row of this many positions, as in fine-tuning.
constexpr int64_t kSharedRow = 512;

// Calls fn(config) for the input of data, of any class.
template <class Fn>
void for_each_data_input(Trainer::Config& config, const Fn& fn) {
  const auto call = [&](const std::string&, auto& input) { fn(input); };
  for_each_config<TextInput>(config.input, call);
  for_each_config<ChatInput>(config.input, call);
  for_each_config<TokenInput>(config.input, call);
  for_each_config<PreferenceInput>(config.input, call);
}

// The same, also for an input without data.
template <class Fn>
void for_each_input(Trainer::Config& config, const Fn& fn) {
  for_each_data_input(config, fn);
  for_each_config<SyntheticInput>(config.input,
                                  [&](const std::string&, auto& input) { fn(input); });
}

// The training input over all of the text once, in its order.
void take_whole_text(Trainer::Config& config) {
  for_each_data_input(config, [](auto& input) {
    input.split = Split::kAll;
    input.shuffle = Shuffle::kNone;
    input.epochs = 1;
  });
}

// Takes the length of rows from the input of an imported model, whose rows nobody has chosen.
// Returns none for a run's.
std::optional<int64_t> take_seq_len(Trainer::Config& config) {
  std::optional<int64_t> out;
  for_each_input(config, [&](auto& input) {
    if (input.batch_size.has_value() || !input.seq_len.has_value()) return;
    out = input.seq_len;
    input.seq_len = REQUIRED;
  });
  return out;
}

// Fills in what the edits have left open.
void complete_rows(const std::optional<int64_t>& seq_len, ResolvedEvaluation& out) {
  for_each_input(out.config, [&](auto& input) {
    if (seq_len && !input.seq_len.has_value()) {
      input.seq_len = *seq_len;
      out.fits_seq_len = true;
    }
    if (!input.batch_size.has_value()) {
      input.batch_size = kBatchSize;
      out.fits_batch_size = true;
    }
  });
  for_each_config<SyntheticInput>(out.config.input,
                                  [](const std::string&, SyntheticInput::Config& input) {
                                    if (!input.num_batches)
                                      input.num_batches = kSyntheticEvalBatches;
                                  });
}

int64_t rounded_up(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

constexpr std::string_view kRead[] = {
    "batch_partition", "compiler_options", "compute_dtype", "input", "model", "seed"};

// Refuses an edit of a field that an evaluation does not read.
void check_is_read(const std::string& path) {
  if (is_read_by_evaluation(path)) return;
  throw ConfigError(fmt::format(
      "--set {}: expected a field that an evaluation reads (in {}), got a field of training{}",
      path, fmt::join(kRead, ", "), path == "mesh" ? "; use --mesh" : ""));
}

// Stands for "no edit has set this path"; no user writes it.
constexpr const char* kUnsetPath = "\x7f";

Trainer::Config with_unset_paths(Trainer::Config config) {
  const auto unset = [](const std::string&, auto& source) { source.path = kUnsetPath; };
  for_each_config<TextSource>(config.input, unset);
  for_each_config<CorpusSource>(config.input, unset);
  for_each_config<ChatSource>(config.input, unset);
  return config;
}

// Refuses edits that change nothing, because the input does not use the field.
template <class TextConfig>
void check_is_used(const std::vector<Edit>& edits, const TextConfig& text) {
  for (const Edit& edit : edits) {
    const auto* const field = std::get_if<SetField>(&edit);
    if (!field) continue;
    if (field->path == "seed" && text.shuffle == Shuffle::kNone) {
      throw ConfigError(
          "--set seed: expected an input that uses the seed, got text in file order; set "
          "input.shuffle=rows as well, or leave it out");
    }
    if (field->path == "input.held_out_fraction" && text.split == Split::kAll) {
      throw ConfigError(
          "--set input.held_out_fraction: expected input.split=held_out or train, got all");
    }
  }
}

// `edited` is the config with unset paths after the edits.
void check_takes_effect(const std::vector<Edit>& edits, Trainer::Config edited) {
  const auto check_path = [](const std::string& path, auto& source) {
    if (!source.path.has_value() || *source.path == kUnsetPath) return;
    throw ConfigError(
        fmt::format("--set input.{}.path: expected no path, because --data names the text, got "
                    "'{}'; pass it to --data",
                    path, *source.path));
  };
  for_each_config<TextSource>(edited.input, check_path);
  for_each_config<CorpusSource>(edited.input, check_path);
  for_each_config<ChatSource>(edited.input, check_path);
  if (const auto* const text = edited.input.get_if<TextInput>()) check_is_used(edits, *text);
  if (const auto* const chat = edited.input.get_if<ChatInput>()) check_is_used(edits, *chat);
  if (const auto* const pairs = edited.input.get_if<PreferenceInput>())
    check_is_used(edits, *pairs);
}

}  // namespace

bool is_read_by_evaluation(std::string_view path) {
  return std::ranges::count(kRead, path.substr(0, path.find_first_of(".[="))) > 0;
}

ResolvedEvaluation resolve_evaluation(const ModelConfig& config, const UseData& data,
                                      const std::vector<Edit>& edits) {
  Json document = config.document;
  document.erase("evalers");  // they would have to agree with the input
  document.erase("task_evalers");
  document.erase("compiler_options");
  ResolvedEvaluation out;
  config_error_in(config.source, [&] { from_json(out.config, document); });
  const std::optional<int64_t> seq_len = take_seq_len(out.config);
  // An edit that names only a class for the input is applied first.
  std::vector<Edit> inputs, later;
  for (const Edit& edit : edits) {
    const auto* const field = std::get_if<SetField>(&edit);
    if (field) check_is_read(field->path);
    const bool names_input =
        field && field->path == "input" && field->text.find('{') == std::string::npos;
    (names_input ? inputs : later).push_back(edit);
  }
  out.report.rewrites = apply_edits(inputs, out.config);
  take_whole_text(out.config);
  const bool synthetic = data.data == kSyntheticData;
  std::vector<std::string> all = {data.data};
  all.insert(all.end(), data.more.begin(), data.more.end());
  // The edits are of fields of the new sources, or of the new input.
  const bool is_first = synthetic || are_token_sources(all);
  if (!is_first) {
    suit_input(out.config.input, data.data, data.more);  // so that edits find its fields
    Trainer::Config edited = with_unset_paths(out.config);
    apply_edits(later, edited);
    check_takes_effect(later, std::move(edited));
  }
  later.insert(is_first ? later.begin() : later.end(), data);
  std::ranges::move(apply_edits(later, out.config), std::back_inserter(out.report.rewrites));
  complete_rows(seq_len, out);
  return out;
}

bool fit_rows(ResolvedEvaluation& evaluation, const InputFacts& facts, int64_t num_devices) {
  if (facts.longest == 0) return false;
  constexpr int64_t kMultiple = 128;
  const int64_t least = gives_pairs(evaluation.config.input) ? 1 : kSharedRow;
  bool changes = false;
  const auto shrink = [&](auto& field, int64_t to) {
    if (to >= field) return;
    field = to;
    changes = true;
  };
  for_each_data_input(evaluation.config, [&](auto& input) {
    if (evaluation.fits_seq_len)
      shrink(input.seq_len, rounded_up(std::max(facts.longest, least), kMultiple));
    const int64_t seq_len = input.seq_len;
    const int64_t rows = std::max(facts.num_rows, rounded_up(facts.num_tokens, seq_len) / seq_len);
    if (evaluation.fits_batch_size) shrink(input.batch_size, rounded_up(rows, num_devices));
  });
  return changes;
}

namespace {

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

namespace {}  // namespace

TasksEvaluation evaluate_tasks(const EvalTasksOptions& options) {
  Progress progress(0, 1, STDERR_FILENO);  // the result is on standard output
  constexpr double kFirstLineSecs = 5;
  // Before the model: their mistakes are reported at once.
  std::vector<Task> tasks =
      read_task_files(options.tasks, {.limit = options.limit, .num_fewshot = options.num_fewshot});
  if (!options.samples.empty()) check_replaceable(options.samples);
  std::optional<LongWait> wait;
  wait.emplace(progress, "reading the model", 0, kFirstLineSecs);
  LoadedModel loaded = load_model(options.dir, options.weights);
  const auto runtime =
      make_runtime({.backend = options.backend,
                    .num_devices = options.num_devices.value_or(num_mesh_devices(options.mesh))});
  const Mesh mesh = fit_mesh(options.mesh, runtime->topology(), options.num_devices);
  TaskModel model(*loaded.model, *loaded.tokenizer, *runtime,
                  {.context_len = loaded.context_len,
                   .compute_dtype = loaded.compute_dtype,
                   .mesh = mesh,
                   .batch_partition = Trainer::Config{}.batch_partition,
                   .streams = loaded.streams,
                   .batch_tokens = options.batch_tokens,
                   .compile = {.cache_dir = options.compile_cache}});
  model.set_parameters(
      decode_arrays(*loaded.model, loaded.parameters, *runtime, loaded.compute_dtype, mesh));
  loaded.parameters.clear();  // they are now on the device
  TasksEvaluation out{.step = loaded.step, .results = {}};
  const auto evaluate = [&](const OnTaskSample& on_sample) {
    for (Task& task : tasks) {
      wait.reset();
      wait.emplace(progress, "evaluating " + task.config().name, 0, kFirstLineSecs);
      const auto on_share = [&](double share) {
        wait->done(share);
        return true;
      };
      out.results.push_back(evaluate_task(task, model, options.limit, on_share, on_sample).value());
    }
  };
  if (options.samples.empty()) {
    evaluate({});
  } else {
    write_atomically(options.samples, [&](FileWriter& file) {
      evaluate([&](const Json& sample) {
        file.write(sample.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
      });
    });
  }
  return out;
}

void check_finite(const TasksEvaluation& evaluation) {
  for (const TaskResult& result : evaluation.results) {
    for (const MetricResult& metric : result.metrics) {
      if (std::isfinite(metric.value)) continue;
      throw Error(fmt::format("{}: expected finite metrics, got {} = {}; finite parameters can "
                              "still be too large",
                              result.task, metric.metric, metric.value),
                  ExitCode::kValidationFailed);
    }
  }
}

std::string to_text(const TasksEvaluation& evaluation) {
  return to_text(std::span<const TaskResult>(evaluation.results));
}

nlohmann::ordered_json to_json(const TasksEvaluation& evaluation) {
  return {{"step", evaluation.step},
          {"tasks", to_json(std::span<const TaskResult>(evaluation.results))}};
}

}  // namespace axle
