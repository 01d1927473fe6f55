// axle data build SOURCES...: token files from texts.
#include <CLI/CLI.hpp>
#include <chrono>

#include "base/console.h"
#include "base/stop_signal.h"
#include "cli/verb.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "inspect/token_file_report.h"

namespace axle::cli {
namespace {

struct BuildOptions {
  TokenBuild build;
  std::string tokenizer, unit = "file", on_error = "fail";
  bool no_begin = false, no_end = false;
};

void add_build(CLI::App& app, BuildOptions& options, Output& out) {
  app.add_option("SOURCES", options.build.sources,
                 "Text files, JSON Lines (also .gz, .zst), Parquet, folders of them, patterns")
      ->required()
      ->type_name("");
  app.add_option("--tokenizer", options.tokenizer,
                 "The file of a tokenizer of any kind, or 'bytes'")
      ->required()
      ->type_name("FILE");
  app.add_option("--out", options.build.prefix, "Writes PREFIX.bin, PREFIX.idx and PREFIX.json")
      ->required()
      ->type_name("PREFIX");
  app.add_option("--field", options.build.field,
                 "The field of a JSON object, or the column of Parquet, that holds the text "
                 "(default: text)")
      ->type_name("NAME");
  app.add_option("--unit", options.unit,
                 "What a document of a text file is: file, paragraph or line (default: file)")
      ->check(CLI::IsMember({"file", "paragraph", "line"}))
      ->type_name("UNIT");
  app.add_option("--on-error", options.on_error,
                 "What a document that is no text does: fail ends the build, skip counts it "
                 "(default: fail)")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->type_name("POLICY");
  app.add_flag("--no-begin", options.no_begin,
               "Leave out the token that begins a document (default: put it, if there is one)");
  app.add_flag("--no-end", options.no_end,
               "Leave out the token that ends a document (default: put it, if there is one)");
  out.add_json_flag(app);
}

ExitCode run_build(const BuildOptions& options, Output& out) {
  TokenBuild build = options.build;
  build.tokenizer = tokenizer_named(options.tokenizer, "--tokenizer");
  if (!build.tokenizer.get_if<ByteTokenizer>()) build.tokenizer_path = options.tokenizer;
  from_text(options.unit, build.unit);
  from_text(options.on_error, build.on_error);
  build.begins = !options.no_begin;
  build.ends = !options.no_end;

  const StopSignal stop;
  StatusLine line(STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const TokenBuildResult result = build_token_file(
      build, {.should_stop = [&] { return stop.requested() != ExitCode::kOk; },
              .report = [&](const TokenBuildProgress& p) { line.draw(to_text(p, seconds())); }});
  line.end();
  out.report(result);
  return result.is_finished ? ExitCode::kOk : stop.requested();
}

}  // namespace

const Verb<BuildOptions> data_build({.name = "data build",
                                     .help = "Make a token file from texts, on all cores",
                                     .add = add_build,
                                     .run = run_build});

}  // namespace axle::cli
