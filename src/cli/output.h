// What verbs print: text for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace axle::cli {

/// Writes to stdout. Reports are types with `to_text(report)` and `to_json(report)` found next to
/// them.
class Output {
 public:
  /// Adds `--json` to a verb that reports.
  void add_json_flag(CLI::App& app);
  bool json() const { return json_; }

  template <class Report>
  void report(const Report& r) {
    if (json_) {
      write(to_json(r).dump(2) + "\n");
    } else {
      write(to_text(r));
    }
  }
  /// Throws StorageError where stdout takes no more: a full disk behind `> file` must not look like
  /// success.
  void write(std::string_view text);
  void flush();
  /// What is printed is not the result of the verb: from now on a console that is closed, full or
  /// gone is no error.
  void make_optional();

 private:
  bool json_ = false, optional_ = false;
};

}  // namespace axle::cli
