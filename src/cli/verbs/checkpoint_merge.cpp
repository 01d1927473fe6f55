// axle checkpoint merge DIR --dir NEW: a model folder whose adapters are merged into the weights.
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "interop/peft_adapters.h"

namespace axle::cli {
namespace {

struct MergeOptions {
  std::string from, to;
  bool average = false;
};

void add(CLI::App& app, MergeOptions& options, Output&) {
  app.add_option("DIR", options.from, "Folder of a run or of an import")->required()->type_name("");
  app.add_option("--dir", options.to, "The folder to create")->required()->type_name("DIR");
  app.add_flag("--ema", options.average, "The averaged parameters");
}

ExitCode run(const MergeOptions& options, Output& out) {
  const Weights weights = options.average ? Weights::kAverage : Weights::kTrained;
  out.write(to_text(merge_adapters(options.from, options.to, weights)));
  return ExitCode::kOk;
}

}  // namespace

const Verb<MergeOptions> checkpoint_merge({
    .name = "checkpoint merge",
    .help = "Write a model folder with the adapters merged into the weights",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
