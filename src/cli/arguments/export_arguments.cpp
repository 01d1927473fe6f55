#include "cli/arguments/export_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "cli/arguments/ignore_option.h"
#include "cli/arguments/number_options.h"

namespace axle::cli {

void ExportArguments::add_to(CLI::App& app) {
  app.add_option("RUN", run, "Folder of a run or of an import, or a model of another program")
      ->required()
      ->type_name("");
  app.add_option("--out", out, "The folder or the file to create")->required()->type_name("PATH");
  app.add_option("--format", format,
                 "hf: a folder that transformers loads; gguf: a file that llama.cpp runs; peft: "
                 "adapters that peft loads")
      ->check(CLI::IsMember({"hf", "gguf", "peft"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  app.add_option("--family", family,
                 "The family to write, by its model_type (default: the first that fits)")
      ->type_name("NAME");
  app.add_option("--dtype", dtype,
                 "Dtype of the tensors (default: that of the parameters); q8_0: blocks of 8 bits, "
                 "in GGUF")
      ->check(CLI::IsMember({"bf16", "f16", "f32", "q8_0"}))
      ->type_name("DTYPE");
  app.add_option("--base", base,
                 "Of adapters: the name or the path of the model that they belong to, which peft "
                 "loads first (default: null)")
      ->type_name("MODEL");
  add_number(app, "--shard-size", shard_gigabytes,
             "Most bytes of a file, in units of 10^9 (default: 5)")
      ->type_name("GB");
  add_ignore(app, ignored);
  app.add_flag("--ema", average, "The averaged parameters");
}

ExportOptions ExportArguments::options() const {
  return {.run = run,
          .ignored = ignored,
          .weights = average ? Weights::kAverage : Weights::kTrained,
          .family = family};
}

ExportOptions ExportArguments::options_with_dtype() const {
  if (dtype == "q8_0") {
    throw ConfigError(
        fmt::format("--dtype: expected bf16, f16 or f32 for --format {}, got q8_0", format));
  }
  ExportOptions result = options();
  if (dtype) result.dtype = Codec<DType>::parse(*dtype);
  return result;
}

void ExportArguments::check_one_file() const {
  if (shard_gigabytes)
    throw ConfigError("--shard-size: expected --format hf, whose folders have several files");
}

void ExportArguments::check_no_base() const {
  if (!base.empty()) throw ConfigError("--base: expected --format peft, whose adapters have one");
}

HuggingFaceExport ExportArguments::folder() const {
  check_no_base();
  HuggingFaceExport request{.options = options_with_dtype(), .dir = out};
  if (const auto size = shard_gigabytes) {
    if (!(*size > 0 && *size <= 1e6)) {
      throw ConfigError(
          fmt::format("--shard-size: expected more than 0 and at most 1e6, got {}", *size));
    }
    request.max_file_bytes = std::max<int64_t>(static_cast<int64_t>(*size * 1e9), 1);
  }
  return request;
}

GgufExport ExportArguments::file() const {
  check_no_base();
  check_one_file();
  std::string type = dtype.value_or("");
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::toupper(c); });
  return {.options = options(), .file = out, .type = type};
}

PeftExport ExportArguments::adapters() const {
  check_one_file();
  return {.options = options_with_dtype(), .dir = out, .base = base};
}

}  // namespace axle::cli
