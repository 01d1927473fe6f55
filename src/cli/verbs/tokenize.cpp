// axle tokenize encode|decode|count|inspect FILE: what a tokenizer of any kind makes of texts.
#include <CLI/CLI.hpp>

#include "cli/arguments/enum_option.h"
#include "cli/arguments/prompt_argument.h"
#include "cli/verb.h"
#include "inspect/tokenizer_report.h"

namespace axle::cli {
namespace {

struct TokenizeOptions {
  std::string file, text, ids;
  std::vector<std::string> data;
  bool special = false, framed = false;
  OnError on_error = OnError::kFail;
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

const Verb<TokenizeOptions> tokenize_count({
    .name = "tokenize count",
    .help = "Count the tokens of text files",
    .add =
        [](CLI::App& app, TokenizeOptions& options, Output& out) {
          add_file_and_json(app, options, out);
          app.add_option("--data", options.data,
                         "A file or folder of text, or a pattern; may be repeated")
              ->required()
              ->type_name("PATH");
          add_enum(app, "--on-error", options.on_error,
                   "What a file that is no text does: fail ends the count, skip leaves it out "
                   "(default: fail)")
              ->type_name("POLICY");
        },
    .run =
        [](const TokenizeOptions& options, Output& out) {
          out.report(count_tokens(*open_tokenizer(options.file).tokenizer, options.data,
                                  options.on_error));
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
