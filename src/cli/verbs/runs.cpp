// axle runs DIR...: runs side by side.
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "inspect/compare_runs.h"

namespace axle::cli {
namespace {

struct RunsOptions {
  std::vector<std::string> dirs;
};

}  // namespace

const Verb<RunsOptions> runs_verb({
    .name = "runs",
    .help = "Compare runs: last and best losses, speed, differences of their configs",
    .add =
        [](CLI::App& app, RunsOptions& options, Output& out) {
          app.add_option("DIR", options.dirs, "Folders of runs, or folders that hold some")
              ->required()
              ->type_name("");
          out.add_json_flag(app);
        },
    .run =
        [](const RunsOptions& options, Output& out) {
          out.report(compare_runs({options.dirs.begin(), options.dirs.end()}));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
