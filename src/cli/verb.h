// A verb of the command line. Each verb is a constant in a file of its own, which registers itself:
//
//   struct Options { std::string text; };
//   const Verb<Options> echo({
//       .name = "echo",
//       .help = "Print a text",
//       .add =
//           [](CLI::App& app, Options& o, Output&) {
//             app.add_option("TEXT", o.text)->required();
//           },
//       .run = [](const Options& o, Output& out) { out.write(o.text); return ExitCode::kOk; }});
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/exit_code.h"
#include "cli/output.h"

namespace axle::cli {

/// The definition of a verb: `add` declares its flags, `run` does its work with the parsed options.
template <class Options>
struct VerbRow {
  /// Two words define a subcommand: "config show".
  std::string_view name;
  /// One line without a full stop.
  std::string_view help;
  void (*add)(CLI::App& app, Options& options, Output& out);
  /// Throws axle::Error to end the verb with an error.
  ExitCode (*run)(const Options& options, Output& out);
};

/// A verb with its type of options erased.
struct AnyVerb {
  std::string_view name, help;
  /// Declares the flags. Returns a function that runs the verb once the flags are parsed.
  std::function<std::function<ExitCode()>(CLI::App&, Output&)> add;
};
void register_verb(AnyVerb verb);
/// Sorted by name.
const std::vector<AnyVerb>& verbs();

/// A constant of this type registers a verb.
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
