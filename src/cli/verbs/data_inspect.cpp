// axle data inspect|verify PREFIX: what is in a token file, and whether it is whole.
#include <CLI/CLI.hpp>

#include "cli/arguments/options.h"
#include "cli/output.h"
#include "inspect/token_file_report.h"

namespace axle::cli {
namespace {

struct TokenFileOptions {
  std::string prefix, tokenizer;
  int64_t num_first = 3;
  std::optional<int64_t> vocab_size;
};

void add_prefix(CLI::App& app, TokenFileOptions& options) {
  app.add_option("PREFIX", options.prefix, "Of PREFIX.bin and PREFIX.idx; their names will do, too")
      ->required()
      ->type_name("");
}

}  // namespace

const Verb<TokenFileOptions> data_inspect({
    .name = "data inspect",
    .help = "Print counts, lengths and the first documents of a token file",
    .add =
        [](CLI::App& app, TokenFileOptions& options, Output& out) {
          add_prefix(app, options);
          app.add_option("--tokenizer", options.tokenizer,
                         "Decodes the documents (default: the one that the card names)")
              ->type_name("FILE");
          add_number<int64_t>(app, "--documents",
                              [&options](int64_t count) { options.num_first = count; },
                              "How many are shown (default: 3)", {.min = 0})
              ->type_name("N");
          out.add_json_flag(app);
        },
    .run =
        [](const TokenFileOptions& options, Output& out) {
          Child<Tokenizer> tokenizer;
          if (!options.tokenizer.empty())
            tokenizer = tokenizer_named(options.tokenizer, "--tokenizer");
          out.report(token_file_facts(options.prefix, tokenizer, options.num_first));
          return ExitCode::kOk;
        },
});

const Verb<TokenFileOptions> data_verify({
    .name = "data verify",
    .help = "Read all of a token file: positions, ids within the vocabulary, hashes",
    .add =
        [](CLI::App& app, TokenFileOptions& options, Output& out) {
          add_prefix(app, options);
          add_number<int64_t>(
              app, "--vocab-size", [&options](int64_t size) { options.vocab_size = size; },
              "That ids are below (default: the vocabulary of the card, if there is one)",
              {.min = 1})
              ->type_name("N");
          out.add_json_flag(app);
        },
    .run =
        [](const TokenFileOptions& options, Output& out) {
          out.report(verify_token_file(options.prefix, options.vocab_size));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
