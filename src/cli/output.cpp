#include "cli/output.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/console.h"
#include "base/error.h"
#include "base/process_start.h"
#include "cli/arguments/model_arguments.h"

namespace axle::cli {

CLI::Option* Output::add_json_flag(CLI::App& app) {
  return app.add_flag("--json", json_, "Print JSON");
}

void Output::write_json(const nlohmann::ordered_json& document) {
  write(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void Output::write(std::string_view text) {
  if (optional_) {
    write_with_timeout(STDOUT_FILENO, text, std::chrono::seconds(1));
    return;
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) flush();
}

void Output::write_text(std::string_view text) {
  write(with_coloured_warnings(text, STDOUT_FILENO));
}

void Output::make_optional() {
  ignore_broken_pipes();
  optional_ = true;
}

void Output::flush() {
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && !optional_) {
    throw StorageError(std::string("stdout: cannot write: ") + std::strerror(errno));
  }
}

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

namespace {

// Created on first use, since verbs in other files register during static initialisation. Never
// destroyed.
std::vector<AnyVerb>& table() {
  static auto* const all = new std::vector<AnyVerb>;
  return *all;
}

}  // namespace

void register_verb(AnyVerb verb) {
  const auto place = std::ranges::upper_bound(table(), verb.name, {}, &AnyVerb::name);
  table().insert(place, std::move(verb));
}

const std::vector<AnyVerb>& verbs() { return table(); }

}  // namespace axle::cli
