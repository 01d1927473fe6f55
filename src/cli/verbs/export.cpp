// axle export RUN --format FORMAT --out PATH: writes a model as other programs read it.
#include <CLI/CLI.hpp>

#include "cli/arguments/export_arguments.h"
#include "cli/output.h"

namespace axle::cli {
namespace {

void add(CLI::App& app, ExportArguments& arguments, Output& out) {
  arguments.add_to(app);
  out.add_json_flag(app);
}

ExitCode run(const ExportArguments& arguments, Output& out) {
  if (arguments.format == "gguf")
    out.report(export_gguf(arguments.file()));
  else if (arguments.format == "peft")
    out.report(export_peft(arguments.adapters()));
  else
    out.report(export_hugging_face(arguments.folder()));
  return ExitCode::kOk;
}

}  // namespace

const Verb<ExportArguments> export_verb({
    .name = "export",
    .help = "Write a model as other programs read it",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
