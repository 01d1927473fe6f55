// A verb of the command line: one constant in a file of its own, which enters itself.
//
//   struct Options { std::string text; };
//   const Verb<Options> echo({
//       .name = "echo",
//       .help = "Print a text",
//       .add = [](CLI::App& app, Options& o, Output&) { app.add_option("TEXT", o.text)->required();
//       }, .run = [](const Options& o, Output& out) { out.write(o.text); return ExitCode::kOk; }});
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/exit_code.h"
#include "cli/output.h"

namespace axle::cli {

/// What a verb is: `add` declares its flags, `run` does its work with what they were set to.
template <class Options>
struct VerbRow {
  /// Two words make a subcommand: "config show".
  std::string_view name;
  /// One line without a full stop.
  std::string_view help;
  void (*add)(CLI::App& app, Options& options, Output& out);
  /// Throws axle::Error for what ends the verb.
  ExitCode (*run)(const Options& options, Output& out);
};

/// A verb whose type of options is forgotten.
struct AnyVerb {
  std::string_view name, help;
  /// Declares the flags; the result runs the verb once they are parsed.
  std::function<std::function<ExitCode()>(CLI::App&, Output&)> add;
};
void register_verb(AnyVerb verb);
/// Sorted by name.
const std::vector<AnyVerb>& verbs();

/// A constant of this type is the verb.
template <class Options>
class Verb {
 public:
  explicit Verb(const VerbRow<Options>& row) {
    register_verb(
        {row.name, row.help, [row](CLI::App& app, Output& out) -> std::function<ExitCode()> {
           auto options = std::make_shared<Options>();
           row.add(app, *options, out);
           return [row, options, &out] { return row.run(*options, out); };
         }});
  }
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
};

}  // namespace axle::cli
