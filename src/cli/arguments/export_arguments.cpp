#include "cli/arguments/export_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/arguments/options.h"
#include "data/tokenizers/training/train_tokenizer.h"

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
  if (dtype) result.dtype = parse_leaf<DType>(*dtype);
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

namespace {

struct FormRow {
  GraphForm form;
  const char* flag;
  bool has_json = false, has_layer = true, has_depth = false;
  int64_t least_depth = 0;
};

constexpr FormRow kForms[] = {
    {.form = GraphForm::kFlops, .flag = "--flops", .has_json = true, .has_depth = true},
    {.form = GraphForm::kOpCounts, .flag = "--op-counts", .has_json = true},
    {.form = GraphForm::kResiduals, .flag = "--residuals", .has_json = true},
    {.form = GraphForm::kHlo, .flag = "--hlo"},
    {.form = GraphForm::kOptimized, .flag = "--optimized", .has_layer = false},
    {.form = GraphForm::kDot, .flag = "--dot", .has_depth = true, .least_depth = 1},
    {.form = GraphForm::kSvg, .flag = "--svg", .has_depth = true, .least_depth = 1}};

bool is_asked(const GraphArguments& a, GraphForm form) {
  switch (form) {
    case GraphForm::kFlops:
      return a.flops;
    case GraphForm::kOpCounts:
      return a.op_counts;
    case GraphForm::kResiduals:
      return a.residuals;
    case GraphForm::kHlo:
      return a.hlo;
    case GraphForm::kOptimized:
      return a.optimized;
    case GraphForm::kDot:
      return a.dot;
    case GraphForm::kSvg:
      break;
  }
  return !a.svg.empty();
}

const FormRow& row_of(const GraphArguments& arguments) {
  const FormRow* asked = nullptr;
  for (const FormRow& row : kForms) {
    if (!is_asked(arguments, row.form)) continue;
    if (asked)
      throw ConfigError(
          fmt::format("{}: expected one form, got also {}; leave out one", row.flag, asked->flag));
    asked = &row;
  }
  return asked ? *asked : kForms[0];
}

}  // namespace

void GraphArguments::add_to(CLI::App& app, Output& out) {
  recipe.add_to(app);
  app.add_option("--layer", layer, "Only this layer and those below, by its path")
      ->type_name("NAME");
  add_number(app, "--depth", depth, "Show so many levels of layers (default: all; in drawings: 2)")
      ->type_name("N");
  out.add_json_flag(app);
  // No option group of CLI11: its options are not among those of the verb.
  constexpr const char* kGroup = "What is printed, one of";
  const auto add_form = [&](const char* flag, bool& to, const char* help) {
    app.add_flag(flag, to, help)->group(kGroup);
  };
  add_form("--flops", flops, "FLOPs and bytes by layer (the default)");
  add_form("--op-counts", op_counts, "The number of ops by kind");
  add_form("--residuals", residuals, "The values that are kept for backward");
  add_form("--hlo", hlo, "The StableHLO of the step, or of a layer's forward pass");
  add_form("--optimized", optimized, "The program that the target's compiler makes");
  add_form("--dot", dot, "A drawing of the forward pass as graphviz reads it");
  app.add_option("--svg", svg, "Draw the forward pass into this file, by graphviz")
      ->type_name("FILE")
      ->group(kGroup);
}

GraphForm GraphArguments::form(bool json) const {
  const FormRow& row = row_of(*this);
  const auto refuse = [&](const char* flag, const char* expected) {
    throw ConfigError(
        fmt::format("{}: expected {}, got {}; leave out {}", flag, expected, row.flag, flag));
  };
  if (json && !row.has_json) refuse("--json", "--flops, --op-counts or --residuals");
  if (layer && !row.has_layer) refuse("--layer", "a form that shows layers");
  if (depth && !row.has_depth) refuse("--depth", "--flops, --dot or --svg");
  if (layer && layer->empty())
    throw ConfigError("--layer: expected the path of a layer, got an empty text");
  if (depth && *depth < row.least_depth)
    throw ConfigError(
        fmt::format("--depth: expected at least {}, got {}", row.least_depth, *depth));
  return row.form;
}

void TokenizerArguments::add_to(CLI::App& app) {
  add_texts(app);
  add_vocabulary(app);
  add_special_tokens(app);
}

void TokenizerArguments::add_texts(CLI::App& app) {
  app.add_option("SOURCES", training.sources,
                 "Text files, JSON Lines (also .gz, .zst), Parquet, folders of them, patterns")
      ->required()
      ->type_name("");
  app.add_option("--out", dir, "The folder for tokenizer.json and tokenizer_config.json")
      ->required()
      ->type_name("DIR");
  app.add_option("--field", training.field,
                 "The field of a JSON object, or the column of a Parquet file, that holds the text "
                 "(default: text)")
      ->type_name("NAME");
  add_enum(app, "--on-error", training.on_error,
           "What a document that is no text does: fail ends the training, skip counts it "
           "(default: fail)")
      ->type_name("POLICY");
  add_number<double>(
      app, "--max-text", [this](double gigabytes) { max_text_gigabytes = gigabytes; },
      "Most bytes of text to read, in units of 10^9 (default: 4)", {.min = 1e-6, .max = 1e6})
      ->type_name("GB");
}

void TokenizerArguments::add_vocabulary(CLI::App& app) {
  add_number<int64_t>(app, "--vocab-size", [this](int64_t size) { training.vocab_size = size; },
                      "Tokens: special tokens, 256 bytes, and one for each merge (default: 32000)",
                      {.min = 1, .max = 1 << 24})
      ->type_name("N");
  add_enum(app, "--alphabet", training.alphabet,
           "What pieces of text begin as: bytes; or characters, the rare ones as bytes "
           "(default: bytes)")
      ->type_name("KIND");
  add_number<double>(app, "--coverage",
                     [this](double share) { training.character_coverage = share; },
                     "Share of the text that the alphabet of characters covers (default: 0.9995)",
                     {.min = 0, .max = 1})
      ->type_name("SHARE");
  app.add_option("--pattern", training.pattern,
                 "The family whose pattern cuts text into pieces: " +
                     join(split_family_names(), ", ") + " (default: llama3)")
      ->check(CLI::IsMember(split_family_names()))
      ->type_name("FAMILY");
  add_number<int64_t>(app, "--min-frequency", [this](int64_t n) { training.min_frequency = n; },
                      "Times that a pair comes in the text before it is merged (default: 2)",
                      {.min = 1})
      ->type_name("N");
}

void TokenizerArguments::add_special_tokens(CLI::App& app) {
  app.add_option("--special", training.special, "A special token; may be repeated")
      ->type_name("TEXT");
  app.add_option("--bos", training.bos, "The special token that begins a document")
      ->type_name("TEXT");
  app.add_option("--eos", training.eos, "The special token that ends a document")
      ->type_name("TEXT");
  app.add_option("--pad", training.pad, "The special token of padding")->type_name("TEXT");
}

TokenizerTraining TokenizerArguments::resolved() const {
  TokenizerTraining out = training;
  out.max_text_bytes = static_cast<int64_t>(max_text_gigabytes * 1e9);
  return out;
}

}  // namespace axle::cli
