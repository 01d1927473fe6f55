#include "cli/arguments/tokenizer_arguments.h"

#include <CLI/CLI.hpp>

#include "base/text/text.h"
#include "cli/arguments/enum_option.h"
#include "cli/arguments/number_options.h"
#include "data/tokenizers/training/split_families.h"

namespace axle::cli {

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
