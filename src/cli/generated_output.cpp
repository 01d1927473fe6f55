#include "cli/generated_output.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "base/report.h"
#include "cli/arguments/sampling_arguments.h"

namespace axle::cli {

TextGenerator::OnText GeneratedOutput::on_text() {
  return [this](std::string_view text) {
    if (out_.json()) return;
    begin();
    out_.write(text);
    out_.flush();
  };
}

void GeneratedOutput::finish(const GeneratedText& generated) {
  if (out_.json()) {
    out_.write_json(to_json(generated));
  } else {
    begin();
    out_.write("\n");
  }
  out_.flush();
  report_to_stderr(speed_text(generated));
}

void GeneratedOutput::begin() { out_.write(std::exchange(before_, {})); }

void converse(ChatSession& session, const std::optional<std::string>& message,
              const GenerateOptions& options, Output& out) {
  const auto answer = [&](const std::string& text) {
    GeneratedOutput shown(out);
    shown.finish(naming_flags([&] { return session.answer(text, options, shown.on_text()); }));
  };
  if (message) return answer(*message);
  const bool is_console = ::isatty(STDIN_FILENO) != 0 && !out.json();
  const auto ask = [&](const char* text) {
    if (!is_console) return;
    out.write(text);
    out.flush();
  };
  std::string line;
  for (ask("> "); std::getline(std::cin, line); ask("> ")) {
    if (!line.empty()) answer(line);
  }
  ask("\n");
}

}  // namespace axle::cli
