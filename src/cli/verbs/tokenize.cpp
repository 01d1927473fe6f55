// axle tokenize encode|decode|inspect FILE: what a tokenizer of any kind makes of texts.
#include <CLI/CLI.hpp>

#include "cli/arguments/model_arguments.h"
#include "cli/output.h"
#include "inspect/tokenizer_report.h"

namespace axle::cli {
namespace {

struct TokenizeOptions {
  std::string file, text, ids;
  bool special = false, framed = false;
};

void add_file(CLI::App& app, TokenizeOptions& options) {
  app.add_option("FILE", options.file,
                 "tokenizer.json, ranks, tekken.json, or a model of SentencePiece or llama2.c")
      ->required()
      ->type_name("");
}

void add_file_and_json(CLI::App& app, TokenizeOptions& options, Output& out) {
  add_file(app, options);
  out.add_json_flag(app);
}

}  // namespace

const Verb<TokenizeOptions> tokenize_encode({
    .name = "tokenize encode",
    .help = "Print the ids of a text",
    .add =
        [](CLI::App& app, TokenizeOptions& options, Output& out) {
          add_file_and_json(app, options, out);
          app.add_option("--text", options.text, "The text; '-' reads it from stdin")
              ->required()
              ->type_name("TEXT");
          app.add_flag("--special", options.special,
                       "Special tokens in the text become their ids (default: they are text)");
          app.add_flag("--framed", options.framed, "Add the special ids around a text");
        },
    .run =
        [](const TokenizeOptions& options, Output& out) {
          out.report(encode_text(*open_tokenizer(options.file).tokenizer, read_prompt(options.text),
                                 options.special, options.framed));
          return ExitCode::kOk;
        },
});

const Verb<TokenizeOptions> tokenize_decode({
    .name = "tokenize decode",
    .help = "Print the text of ids",
    .add =
        [](CLI::App& app, TokenizeOptions& options, Output&) {
          add_file(app, options);
          app.add_option("--ids", options.ids, "Numbers such as '1 2 3'; '-' reads them from stdin")
              ->required()
              ->type_name("IDS");
        },
    .run =
        [](const TokenizeOptions& options, Output& out) {
          const NamedTokenizer named = open_tokenizer(options.file);
          out.write(named.tokenizer->decode(parse_ids(read_prompt(options.ids), named)) + "\n");
          return ExitCode::kOk;
        },
});

const Verb<TokenizeOptions> tokenize_inspect({
    .name = "tokenize inspect",
    .help = "Print the kind of a tokenizer, its vocabulary and special tokens",
    .add = add_file_and_json,
    .run =
        [](const TokenizeOptions& options, Output& out) {
          out.report(tokenizer_facts(open_tokenizer(options.file)));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
