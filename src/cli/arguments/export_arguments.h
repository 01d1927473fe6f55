// The arguments of export, graph and the training of tokenizers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"
#include "data/tokenizers/training/train_tokenizer.h"
#include "interop/export/gguf_export.h"
#include "interop/export/hugging_face_export.h"
#include "interop/export/peft_export.h"

namespace CLI {
class App;
}  // namespace CLI

namespace axle::cli {

struct ExportArguments {
  std::string run, out, format = "hf", family, base;
  std::optional<std::string> dtype;
  std::optional<double> shard_gigabytes;
  std::vector<std::string> ignored;
  bool average = false;

  void add_to(CLI::App& app);
  /// What the formats hf, gguf and peft write. Throws ConfigError for flags of another format.
  HuggingFaceExport folder() const;
  GgufExport file() const;
  PeftExport adapters() const;

 private:
  ExportOptions options() const;
  ExportOptions options_with_dtype() const;
  void check_one_file() const;
  void check_no_base() const;
};

/// What `axle graph` prints.
enum class GraphForm { kFlops, kOpCounts, kResiduals, kHlo, kOptimized, kDot, kSvg };

struct GraphArguments {
  RecipeArguments recipe;
  /// Path of a layer; none: the whole step.
  std::optional<std::string> layer;
  /// File of --svg; empty: not given.
  std::string svg;
  /// Levels of layers; none: the default of the form.
  std::optional<int64_t> depth;
  bool flops = false, op_counts = false, residuals = false, hlo = false, optimized = false,
       dot = false;

  void add_to(CLI::App& app, Output& out);
  /// Returns the form that is asked for; kFlops by default. Throws ConfigError for two forms, and
  /// for flags that would do nothing in this form.
  GraphForm form(bool json) const;
};

struct TokenizerArguments {
  TokenizerTraining training;
  std::string dir;
  double max_text_gigabytes = 4;

  void add_to(CLI::App& app);
  /// Returns the training that the flags ask for.
  TokenizerTraining resolved() const;

 private:
  void add_texts(CLI::App& app);
  void add_vocabulary(CLI::App& app);
  void add_special_tokens(CLI::App& app);
};

}  // namespace axle::cli
