// axle tokenize count FILE: how many tokens texts have.
#include <CLI/CLI.hpp>

#include "cli/arguments/options.h"
#include "cli/output.h"
#include "inspect/tokenizer_report.h"

namespace axle::cli {
namespace {

struct CountOptions {
  std::string file;
  TextsToCount texts;
};

}  // namespace

const Verb<CountOptions> tokenize_count({
    .name = "tokenize count",
    .help = "Count the tokens of texts",
    .add =
        [](CLI::App& app, CountOptions& options, Output& out) {
          app.add_option("FILE", options.file, "The file of a tokenizer of any kind")
              ->required()
              ->type_name("");
          app.add_option("--data", options.texts.data,
                         "A file or folder of text, JSON Lines or Parquet, or a pattern; '-' is "
                         "stdin; may be repeated")
              ->required()
              ->type_name("PATH");
          app.add_option("--field", options.texts.field,
                         "The field of a JSON object, or the column of Parquet, that holds the "
                         "text (default: text); with it, stdin is JSON Lines or a JSON list")
              ->type_name("NAME");
          add_enum(app, "--on-error", options.texts.on_error,
                   "What a document that is no text does: fail ends the count, skip leaves it out "
                   "(default: fail)")
              ->type_name("POLICY");
          out.add_json_flag(app);
        },
    .run =
        [](const CountOptions& options, Output& out) {
          out.report(count_tokens(*open_tokenizer(options.file).tokenizer, options.texts));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
