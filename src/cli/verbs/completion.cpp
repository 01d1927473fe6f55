// axle completion SHELL: a script for the shell's own completion.
#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "cli/candidates.h"
#include "cli/command_line.h"
#include "cli/output.h"

namespace axle::cli {
namespace {

struct CompletionOptions {
  std::string shell;
  std::vector<std::string> words;
};

}  // namespace

const Verb<CompletionOptions> completion({
    .name = "completion",
    .help = "Print a completion script: source <(axle completion bash); zsh and fish as well",
    .add =
        [](CLI::App& app, CompletionOptions& o, Output&) {
          app.add_option("SHELL", o.shell, "bash, zsh or fish")->required()->type_name("");
          app.add_option("WORDS", o.words,
                         "After --, print the values that may follow these words of a command line")
              ->type_name("");
        },
    .run =
        [](const CompletionOptions& o, Output& out) {
          if (!o.words.empty()) {
            out.write(join(completion_candidates(o.words), "\n") + "\n");
            return ExitCode::kOk;
          }
          out.write(completion_script(o.shell, CommandLine(out).app()));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
