// axle eval --from DIR --data PATH: the loss of a trained model on text.
#include <CLI/CLI.hpp>

#include "cli/runtime_arguments.h"
#include "cli/verb.h"
#include "inspect/eval_run.h"

namespace axle::cli {
namespace {

struct EvalOptions {
  std::string dir, data, mesh;
  bool average = false;
  RuntimeArguments runtime;
};

void add(CLI::App& app, EvalOptions& options, Output& out) {
  app.add_option("--from", options.dir, "Folder of a run or of an import")
      ->required()
      ->type_name("DIR");
  app.add_option("--data", options.data, "A file or folder of UTF-8 text, or 'synthetic'")
      ->required()
      ->type_name("PATH");
  app.add_option("--mesh", options.mesh, "Devices as named axes (default: one device)")
      ->type_name("AXES");
  app.add_flag("--ema", options.average, "Take the averaged parameters");
  options.runtime.add_to(app);
  out.add_json_flag(app);
}

ExitCode run(const EvalOptions& options, Output& out) {
  options.runtime.ensure_plugin();
  EvalRunOptions eval{.dir = options.dir,
                      .data = options.data,
                      .weights = options.average ? Weights::kAverage : Weights::kTrained,
                      .compile_cache = options.runtime.compile_cache};
  from_text(options.mesh, eval.mesh);
  eval.runtime = {.backend = options.runtime.backend,
                  .num_devices = options.runtime.num_devices.value_or(1)};
  if (!options.runtime.num_devices && !options.mesh.empty())
    eval.runtime.num_devices = eval.mesh.num_devices();
  out.report(evaluate_run(eval));
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
