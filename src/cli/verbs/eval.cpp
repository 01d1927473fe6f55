// axle eval --from DIR --data PATH: the loss of a trained model on text.
// axle eval --from DIR --task FILE: its answers to the questions of a task.
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/arguments/model_arguments.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/arguments/task_arguments.h"
#include "cli/output.h"
#include "inspect/eval_run.h"
#include "io/file.h"
#include "train/evaluation/evaluations.h"

namespace axle::cli {
namespace {

struct EvalOptions {
  ModelArguments model;
  std::vector<std::string> data;
  std::vector<Edit> edits;
  TaskArguments tasks;
  RuntimeArguments runtime;
};

void add(CLI::App& app, EvalOptions& options, Output& out) {
  options.model.add_to(app);
  app.add_option("--data", options.data,
                 "A file or folder of UTF-8 text, or a pattern of them; again for more; or "
                 "'synthetic'")
      ->type_name("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options.tasks.add_to(app);
  add_set_to(app, options.edits);
  options.runtime.add_to(app);
  options.runtime.add_mesh_to(app);
  out.add_json_flag(app);
}

ExitCode run_tasks(const EvalOptions& options, Output& out) {
  options.tasks.check(options.model.dir);
  if (!options.data.empty() || !options.edits.empty())
    throw ConfigError("--task: expected no --data and no --set beside it, got one");
  options.runtime.ensure_plugin();
  EvalTasksOptions evaluated = options.tasks.options();
  evaluated.dir = options.model.path();
  evaluated.weights = options.model.weights();
  evaluated.backend = options.runtime.backend;
  evaluated.num_devices = options.runtime.num_devices;
  evaluated.mesh = options.runtime.mesh;
  evaluated.compile_cache = options.runtime.compile_cache;
  const TasksEvaluation evaluation = evaluate_tasks(evaluated);
  out.report(evaluation);
  check_finite(evaluation);
  return ExitCode::kOk;
}

ExitCode run(const EvalOptions& options, Output& out) {
  if (options.tasks.is_given()) return run_tasks(options, out);
  if (options.data.empty()) throw ConfigError("--data is required without --task");
  options.runtime.ensure_plugin();
  std::vector<std::string> data;
  for (const std::string& path : options.data) data.push_back(text_of_path(path));
  const RunEvaluation evaluation = evaluate_run({.dir = options.model.path(),
                                                 .data = data,
                                                 .edits = options.edits,
                                                 .backend = options.runtime.backend,
                                                 .num_devices = options.runtime.num_devices,
                                                 .mesh = options.runtime.mesh,
                                                 .weights = options.model.weights(),
                                                 .compile_cache = options.runtime.compile_cache});
  print_changes(evaluation.changes);
  if (const Skipped& skipped = evaluation.facts.skipped; skipped.count > 0)
    report_to_stderr("WARNING: input: " + skipped_text(skipped));
  out.report(evaluation);
  check_finite(evaluation);
  return ExitCode::kOk;
}

}  // namespace

const Verb<EvalOptions> eval_verb({
    .name = "eval",
    .help = "Evaluate a trained model on text, or by the questions of tasks",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
