#include "inspect/eval_tasks.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "evaluate/task/task_files.h"
#include "infer/generator.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "pjrt/make_runtime.h"
#include "runtime/mesh_devices.h"
#include "train/config/trainer_config.h"
#include "train/record/progress.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

TasksEvaluation evaluate_tasks(const EvalTasksOptions& options) {
  Progress progress(0, 1, STDERR_FILENO);  // the result is on standard output
  constexpr double kFirstLineSecs = 5;
  // Before the model: their mistakes are told at once.
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
