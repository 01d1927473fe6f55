// axle export RUN --format FORMAT --out DIR: writes a model as other programs read it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "cli/arguments/number_options.h"
#include "cli/verb.h"
#include "interop/export/gguf_export.h"

namespace axle::cli {
namespace {

struct ExportArguments {
  std::string run, out, format = "hf", family;
  std::optional<std::string> dtype;
  std::optional<double> shard_gigabytes;
  bool average = false;
};

void add(CLI::App& app, ExportArguments& options, Output&) {
  app.add_option("RUN", options.run,
                 "Folder of a run or of an import, or a model of another program")
      ->required()
      ->type_name("");
  app.add_option("--out", options.out, "The folder or the file to create")
      ->required()
      ->type_name("PATH");
  app.add_option("--format", options.format,
                 "hf: a folder that transformers loads; gguf: a file that llama.cpp runs")
      ->check(CLI::IsMember({"hf", "gguf"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  app.add_option("--family", options.family,
                 "The family to write, by its model_type (default: the first that fits)")
      ->type_name("NAME");
  app.add_option("--dtype", options.dtype,
                 "Dtype of the tensors (default: that of the parameters); q8_0: blocks of 8 bits, "
                 "in GGUF")
      ->check(CLI::IsMember({"bf16", "f16", "f32", "q8_0"}))
      ->type_name("DTYPE");
  add_number(app, "--shard-size", options.shard_gigabytes,
             "Most bytes of a file, in units of 10^9 (default: 5)")
      ->type_name("GB");
  app.add_flag("--ema", options.average, "The averaged parameters");
}

std::string write_gguf(const ExportArguments& arguments, const ExportOptions& options) {
  if (arguments.shard_gigabytes)
    throw ConfigError("--shard-size: expected --format hf, whose folders have several files");
  std::string type = arguments.dtype.value_or("");
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::toupper(c); });
  return to_text(export_gguf({.options = options, .file = arguments.out, .type = type}));
}

std::string write_folder(const ExportArguments& arguments, const ExportOptions& options) {
  HuggingFaceExport request{.options = options, .dir = arguments.out};
  if (arguments.dtype == "q8_0")
    throw ConfigError("--dtype: expected bf16, f16 or f32 for --format hf, got q8_0");
  if (arguments.dtype) request.options.dtype = Codec<DType>::parse(*arguments.dtype);
  if (const auto size = arguments.shard_gigabytes) {
    if (!(*size > 0 && *size <= 1e6)) {
      throw ConfigError(
          fmt::format("--shard-size: expected more than 0 and at most 1e6, got {}", *size));
    }
    request.max_file_bytes = std::max<int64_t>(static_cast<int64_t>(*size * 1e9), 1);
  }
  return to_text(export_hugging_face(request));
}

ExitCode run(const ExportArguments& arguments, Output& out) {
  const ExportOptions options{.run = arguments.run,
                              .weights = arguments.average ? Weights::kAverage : Weights::kTrained,
                              .family = arguments.family};
  out.write(arguments.format == "gguf" ? write_gguf(arguments, options)
                                       : write_folder(arguments, options));
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
