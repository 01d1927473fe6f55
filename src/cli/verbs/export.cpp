// axle export RUN --format FORMAT --out DIR: writes a model as other programs read it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "cli/arguments/number_options.h"
#include "cli/verb.h"
#include "interop/export/hugging_face_export.h"

namespace axle::cli {
namespace {

struct ExportArguments {
  std::string run, dir, format = "hf", family;
  std::optional<std::string> dtype;
  std::optional<double> shard_gigabytes;
  bool average = false;
};

void add(CLI::App& app, ExportArguments& options, Output&) {
  app.add_option("RUN", options.run,
                 "Folder of a run or of an import, or a model of another program")
      ->required()
      ->type_name("");
  app.add_option("--out", options.dir, "The folder to create")->required()->type_name("DIR");
  app.add_option("--format", options.format, "hf: a folder that transformers loads")
      ->check(CLI::IsMember({"hf"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  app.add_option("--family", options.family,
                 "The family to write, by its model_type (default: the first that fits)")
      ->type_name("NAME");
  app.add_option("--dtype", options.dtype, "Dtype of the tensors (default: that of the parameters)")
      ->check(CLI::IsMember({"bf16", "f16", "f32"}))
      ->type_name("DTYPE");
  add_number(app, "--shard-size", options.shard_gigabytes,
             "Most bytes of a file, in units of 10^9 (default: 5)")
      ->type_name("GB");
  app.add_flag("--ema", options.average, "The averaged parameters");
}

ExitCode run(const ExportArguments& arguments, Output& out) {
  HuggingFaceExport request{
      .options = {.run = arguments.run,
                  .weights = arguments.average ? Weights::kAverage : Weights::kTrained,
                  .family = arguments.family},
      .dir = arguments.dir};
  if (arguments.dtype) request.options.dtype = Codec<DType>::parse(*arguments.dtype);
  if (const auto size = arguments.shard_gigabytes) {
    if (!(*size > 0 && *size <= 1e6)) {
      throw ConfigError(
          fmt::format("--shard-size: expected more than 0 and at most 1e6, got {}", *size));
    }
    request.max_file_bytes = std::max<int64_t>(static_cast<int64_t>(*size * 1e9), 1);
  }
  out.write(to_text(export_hugging_face(request)));
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
