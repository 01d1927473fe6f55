// axle checkpoint export DIR FILE: the tensors of a checkpoint as a safetensors file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/text/text_table.h"
#include "cli/arguments/model_arguments.h"
#include "cli/arguments/options.h"
#include "cli/output.h"

namespace axle::cli {
namespace {

struct ExportOptions {
  CheckpointArguments checkpoint;
  std::string file;
  bool overwrite = false;
};

void add(CLI::App& app, ExportOptions& options, Output&) {
  options.checkpoint.add_to(app);
  app.add_option("FILE", options.file, "The safetensors file to write")->required()->type_name("");
  app.add_flag("--overwrite", options.overwrite, "Replace the file if it exists");
}

ExitCode run(const ExportOptions& options, Output& out) {
  check_output_file("FILE", options.file,
                    options.overwrite ? std::optional(OutputKind::kTensors) : std::nullopt);
  if (!options.overwrite && std::filesystem::is_regular_file(options.file)) {
    throw ConfigError(
        fmt::format("FILE: expected a new file, got {}, which exists; name another, "
                    "or replace it with --overwrite",
                    options.file));
  }
  const CheckpointListing written = export_checkpoint(options.checkpoint.selection(), options.file);
  const std::string report = fmt::format(
      "{}: {}, {} {}, of step {}", options.file, counted(std::ssize(written.tensors), "tensor"),
      grouped_digits(written.total_bytes()), plural(written.total_bytes(), "byte"), written.step);
  std::error_code no_output;
  if (std::filesystem::equivalent(options.file, "/dev/stdout", no_output))
    report_to_stderr(report);  // the tensors are there
  else
    out.write(report + "\n");
  return ExitCode::kOk;
}

}  // namespace

const Verb<ExportOptions> checkpoint_export({
    .name = "checkpoint export",
    .help = "Write the tensors of a checkpoint to a safetensors file",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
