// The output of verbs: text for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

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

}  // namespace axle::cli
