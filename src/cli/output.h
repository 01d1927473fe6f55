// The output of verbs: text for people, JSON for programs.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "infer/text_generator.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// Writes to stdout. A report is a type with `to_text(report)` and `to_json(report)` in its
/// namespace.
class Output {
 public:
  /// Adds the flag `--json` to a verb that reports.
  CLI::Option* add_json_flag(CLI::App& app);
  bool json() const { return json_; }

  template <class Report>
  void report(const Report& r) {
    if (json_) {
      write_json(to_json(r));
    } else {
      write_text(to_text(r));
    }
  }
  /// Throws StorageError if stdout can't be written: a full disk behind `> file` must not look like
  /// success.
  void write(std::string_view text);
  /// Replaces bytes that are not UTF-8 by U+FFFD, since JSON holds only UTF-8.
  void write_json(const nlohmann::ordered_json& document);
  void flush();
  /// Declares that the printed text is not the result of the verb. From now on, a console that is
  /// closed, full or gone is not an error, and a console that blocks is not waited for.
  void make_optional();

 private:
  // Writes a report for people: warnings have a colour where stdout shows it.
  void write_text(std::string_view text);
  bool json_ = false, optional_ = false;
};

/// Writes what is generated as it appears, or as JSON when it is whole, and its speed to stderr.
class GeneratedOutput {
 public:
  /// `before` is written before the first piece, so that a refused prompt is not echoed.
  explicit GeneratedOutput(Output& out, std::string before = {})
      : out_(out), before_(std::move(before)) {}
  TextGenerator::OnText on_text();
  void finish(const GeneratedText& generated);

 private:
  void begin();
  Output& out_;
  std::string before_;
};

/// Answers one message, or each line of stdin that is not empty.
void converse(ChatSession& session, const std::optional<std::string>& message,
              const GenerateOptions& options, Output& out);

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
