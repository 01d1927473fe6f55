#include "cli/output.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/console.h"
#include "base/error.h"
#include "base/process_start.h"

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

}  // namespace axle::cli
