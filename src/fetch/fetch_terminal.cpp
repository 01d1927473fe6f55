// The questions and progress of a download, on the terminal and never on stdout.
#include "fetch/fetch_terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>

#include "base/console.h"
#include "base/text/text.h"

namespace axle {
namespace {

// Ignores errors of writing to stderr, as base/error.h does.
void print(const std::string& text) { std::fputs(text.c_str(), stderr); }

bool confirm(const std::string& question) {
  print(question);
  std::string answer;
  std::getline(std::cin, answer);
  return trim(answer) == "y" || trim(answer) == "Y" || trim(answer) == "yes";
}

// The progress of each download, drawn at most a hundred times per name.
class ProgressLine {
 public:
  void show(const std::string& name, int64_t bytes, int64_t total) {
    const int64_t percent = total > 0 ? std::min<int64_t>(100, 100 * bytes / total) : 0;
    if (name == name_ && percent == percent_) return;
    if (name != name_) end();
    line_.draw(fmt::format("{}: {}%", name, percent));
    name_ = name;
    percent_ = percent;
  }
  /// Ends the line. Call this before printing anything else.
  void end() {
    line_.end();
    name_.clear();
  }

 private:
  StatusLine line_{STDERR_FILENO, std::chrono::seconds(1)};
  std::string name_;
  int64_t percent_ = 0;
};

}  // namespace

FetchOptions terminal_fetch_options(bool yes) {
  const bool is_shown = is_screen(STDERR_FILENO);
  const auto progress = std::make_shared<ProgressLine>();
  FetchOptions out{.assume_yes = yes};
  out.print = [progress](const std::string& line) {
    progress->end();
    print(line + "\n");
  };
  if (::isatty(STDERR_FILENO) != 0 && ::isatty(STDIN_FILENO) != 0) out.confirm = confirm;
  if (is_shown) {
    out.progress = [progress](const std::string& name, int64_t bytes, int64_t total) {
      progress->show(name, bytes, total);
    };
  }
  return out;
}

}  // namespace axle
