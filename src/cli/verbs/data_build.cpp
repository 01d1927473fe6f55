// axle data build SOURCES...: token files from texts and conversations.
#include <CLI/CLI.hpp>
#include <chrono>

#include "base/console.h"
#include "base/process_start.h"
#include "cli/arguments/options.h"
#include "cli/output.h"
#include "inspect/build_tokens.h"
#include "inspect/token_file_report.h"

namespace axle::cli {
namespace {

void add_build(CLI::App& app, TokenBuildFlags& flags, Output& out) {
  app.add_option("SOURCES", flags.sources,
                 "Text files, JSON Lines (also .gz, .zst), Parquet, folders of them, patterns; of "
                 "texts, conversations or pairs of answers")
      ->required()
      ->type_name("");
  app.add_option("--tokenizer", flags.tokenizer, "The file of a tokenizer of any kind, or 'bytes'")
      ->required()
      ->type_name("FILE");
  app.add_option("--out", flags.prefix, "Writes PREFIX.bin, PREFIX.idx and PREFIX.json")
      ->required()
      ->type_name("PREFIX");
  app.add_option("--field", flags.field,
                 "The field of a JSON object, or the column of Parquet, that holds the text "
                 "(default: text)")
      ->type_name("NAME");
  app.add_option("--unit", flags.unit,
                 "What a document is: file, paragraph or line of a text file, conversation, pair "
                 "(default: what the first record is, else file)")
      ->check(CLI::IsMember({"file", "paragraph", "line", "conversation", "pair"}))
      ->type_name("UNIT");
  add_enum(app, "--on-error", flags.on_error,
           "What a document does that can't be used: fail ends the build, skip counts it "
           "(default: fail)")
      ->type_name("POLICY");
  app.add_flag("--no-begin", flags.no_begin,
               "Leave out the token that begins a document (default: put it, if there is one)");
  app.add_flag("--no-end", flags.no_end,
               "Leave out the token that ends a document (default: put it, if there is one)");
  app.add_option("--chat-template", flags.chat_template,
                 "The template of conversations (default: that of the tokenizer's files)")
      ->type_name("FILE");
  add_number<int64_t>(app, "--seq-len", [&flags](int64_t len) { flags.seq_len = len; },
                      "Positions that a conversation, or a pair, has at the most (default: any)",
                      {.min = 1})
      ->type_name("N");
  add_enum(app, "--too-long", flags.too_long,
           "What a conversation of more does: cut keeps all up to the last answer that fits, skip "
           "leaves it out (default: cut)")
      ->type_name("POLICY");
  add_enum(app, "--learned", flags.learned,
           "Which tokens of conversations are targets: assistant, all (default: assistant)")
      ->type_name("TOKENS");
  out.add_json_flag(app);
}

ExitCode run_build(const TokenBuildFlags& flags, Output& out) {
  const StopSignal stop;
  StatusLine line(STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const TokenBuildResult result = build_tokens(
      flags, {.should_stop = [&] { return stop.requested() != ExitCode::kOk; },
              .report = [&](const TokenBuildProgress& p) { line.draw(to_text(p, seconds())); }});
  line.end();
  out.report(result);
  return result.is_finished ? ExitCode::kOk : stop.requested();
}

}  // namespace

const Verb<TokenBuildFlags> data_build({.name = "data build",
                                        .help = "Make a token file from texts or chats",
                                        .add = add_build,
                                        .run = run_build});

}  // namespace axle::cli
