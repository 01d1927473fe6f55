// axle data which DIR --step N: the documents of a step.
#include <CLI/CLI.hpp>

#include "cli/arguments/options.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"
#include "inspect/token_file_report.h"

namespace axle::cli {
namespace {

struct WhichOptions {
  std::string dir;
  int64_t step = 0;
};

}  // namespace

const Verb<WhichOptions> data_which({
    .name = "data which",
    .help = "Name the documents of a step of a run",
    .add =
        [](CLI::App& app, WhichOptions& options, Output& out) {
          app.add_option("DIR", options.dir, "Folder of the run, or a config file")
              ->required()
              ->type_name("");
          add_number<int64_t>(app, "--step", [&options](int64_t step) { options.step = step; },
                              "The step, from 1 on", {.min = 1})
              ->required()
              ->type_name("N");
          out.add_json_flag(app);
        },
    .run =
        [](const WhichOptions& options, Output& out) {
          out.report(
              origins_of_step(resolve_named(options.dir, {}).config, options.step, options.dir));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
