// axle eval --from DIR --data PATH: the loss of a trained model on text.
#include <CLI/CLI.hpp>

#include "base/report.h"
#include "cli/arguments/model_arguments.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/arguments/runtime_arguments.h"
#include "cli/verb.h"
#include "inspect/eval_run.h"
#include "io/file.h"
#include "io/user_path.h"
#include "train/folder/run_notes.h"

namespace axle::cli {
namespace {

struct EvalOptions {
  ModelArguments model;
  std::vector<std::string> data;
  std::vector<Edit> edits;
  RuntimeArguments runtime;
};

void add(CLI::App& app, EvalOptions& options, Output& out) {
  options.model.add_to(app);
  app.add_option("--data", options.data,
                 "A file or folder of UTF-8 text, or a pattern of them; again for more; or "
                 "'synthetic'")
      ->required()
      ->type_name("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_set_to(app, options.edits);
  options.runtime.add_to(app);
  options.runtime.add_mesh_to(app);
  out.add_json_flag(app);
}

ExitCode run(const EvalOptions& options, Output& out) {
  options.runtime.ensure_plugin();
  std::vector<std::string> data;
  for (const std::string& path : options.data) data.push_back(text_of_path(path));
  const RunEvaluation evaluation = evaluate_run({.dir = options.model.dir,
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
    .help = "Evaluate a trained model on text: loss and bits per byte",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
