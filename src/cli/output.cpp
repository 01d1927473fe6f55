#include "cli/output.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/process_start.h"

namespace axle::cli {

void Output::add_json_flag(CLI::App& app) { app.add_flag("--json", json_, "Print JSON"); }

void Output::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) flush();
}

void Output::make_optional() {
  survive_lost_readers();
  optional_ = true;
}

void Output::flush() {
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && !optional_) {
    throw StorageError(std::string("stdout: cannot write: ") + std::strerror(errno));
  }
}

}  // namespace axle::cli
