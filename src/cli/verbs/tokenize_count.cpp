// axle tokenize count FILE: how many tokens text files have.
#include <CLI/CLI.hpp>

#include "cli/arguments/enum_option.h"
#include "cli/verb.h"
#include "inspect/tokenizer_report.h"

namespace axle::cli {
namespace {

struct CountOptions {
  std::string file;
  std::vector<std::string> data;
  OnError on_error = OnError::kFail;
};

}  // namespace

const Verb<CountOptions> tokenize_count({
    .name = "tokenize count",
    .help = "Count the tokens of text files",
    .add =
        [](CLI::App& app, CountOptions& options, Output& out) {
          app.add_option("FILE", options.file, "The file of a tokenizer of any kind")
              ->required()
              ->type_name("");
          app.add_option("--data", options.data,
                         "A file or folder of text, or a pattern; may be repeated")
              ->required()
              ->type_name("PATH");
          add_enum(app, "--on-error", options.on_error,
                   "What a file that is no text does: fail ends the count, skip leaves it out "
                   "(default: fail)")
              ->type_name("POLICY");
          out.add_json_flag(app);
        },
    .run =
        [](const CountOptions& options, Output& out) {
          out.report(count_tokens(*open_tokenizer(options.file).tokenizer, options.data,
                                  options.on_error));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
