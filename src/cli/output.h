// What verbs print: text for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// Writes to stdout. Reports are types with `to_text(report)` and `to_json(report)` found next to
/// them.
class Output {
 public:
  /// Adds `--json` to a verb that reports.
  CLI::Option* add_json_flag(CLI::App& app);
  bool json() const { return json_; }

  template <class Report>
  void report(const Report& r) {
    if (json_) {
      write_json(to_json(r));
    } else {
      write(to_text(r));
    }
  }
  /// Throws StorageError where stdout takes no more: a full disk behind `> file` must not look like
  /// success.
  void write(std::string_view text);
  /// Bytes of texts that are no UTF-8 become U+FFFD, as JSON knows none.
  void write_json(const nlohmann::ordered_json& document);
  void flush();
  /// What is printed is not the result of the verb: from now on a console that is closed, full or
  /// gone is no error, and one that takes nothing is not waited for.
  void make_optional();

 private:
  bool json_ = false, optional_ = false;
};

}  // namespace axle::cli
