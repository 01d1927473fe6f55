// axle tokenizer train SOURCES... --out DIR: a tokenizer from texts.
#include <CLI/CLI.hpp>
#include <chrono>

#include "base/console.h"
#include "cli/arguments/export_arguments.h"
#include "cli/output.h"
#include "inspect/tokenizer_report.h"

namespace axle::cli {
namespace {

ExitCode run_train(const TokenizerArguments& arguments, Output& out) {
  const TokenizerTraining training = arguments.resolved();
  check_tokenizer_folder(arguments.dir);
  StatusLine line(STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  const auto report = [&](const TokenizerTrainingProgress& progress) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start;
    line.draw(to_text(progress, since.count()));
  };
  const TrainedTokenizer trained = train_tokenizer(training, report);
  line.end();
  save_tokenizer(trained, arguments.dir);
  out.report(TokenizerTrainingReport{.dir = arguments.dir,
                                     .wanted_size = training.vocab_size,
                                     .min_frequency = training.min_frequency,
                                     .max_text_gigabytes = arguments.max_text_gigabytes,
                                     .trained = trained});
  return ExitCode::kOk;
}

}  // namespace

const Verb<TokenizerArguments> tokenizer_train({
    .name = "tokenizer train",
    .help = "Train a tokenizer of merges on texts, on all cores",
    .add =
        [](CLI::App& app, TokenizerArguments& arguments, Output& out) {
          arguments.add_to(app);
          out.add_json_flag(app);
        },
    .run = run_train,
});

}  // namespace axle::cli
