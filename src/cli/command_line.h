// The tree of verbs in CLI11, and the errors about what the user typed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "cli/output.h"

namespace axle::cli {

/// Returns one line for each exit code, with its meaning.
std::string exit_code_text();

/// Every registered verb with its flags. The verb "config show" is the subcommand `show` of
/// `config`.
class CommandLine {
 public:
  explicit CommandLine(Output& out);

  /// Parses the arguments, then runs the verb. Prints help and version itself. Throws ConfigError
  /// naming the nearest verb or flag if the arguments can't be parsed.
  ExitCode run(int argc, const char* const* argv);

  const CLI::App& app() const { return app_; }

 private:
  CLI::App* add(const std::string& name, CLI::App& parent);
  const CLI::App& parsed() const;
  void check_extras() const;

  Output& out_;
  CLI::App app_;
  std::map<const CLI::App*, std::function<ExitCode()>> runs_;
};

}  // namespace axle::cli
