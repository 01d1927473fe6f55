#include "runtime/compiler_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace axle {
namespace {

// Written for every program of ours, whatever it is.
constexpr std::array<std::string_view, 2> kSaysNothing = {
    "Module contains sdy shardings",  // the form that this plugin reads: the other one is to come
    "All log messages before absl::InitializeLog()"};

// "W1121 23:12:12.335242    2503 file.cc:3402] message".
std::string_view message_of(std::string_view line) {
  const bool is_warning =
      line.size() > 5 && (line[0] == 'W' || line[0] == 'E') &&
      std::ranges::all_of(line.substr(1, 4), [](unsigned char c) { return std::isdigit(c) != 0; });
  const size_t bracket = line.find("] ");
  return is_warning && bracket != line.npos ? line.substr(bracket + 2) : std::string_view{};
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

CompilerLog::CompilerLog(const char* level) {
  ::setenv("TF_CPP_MIN_LOG_LEVEL", level, /*overwrite=*/0);
  std::fflush(stderr);
  file_ = ::memfd_create("compiler log", MFD_CLOEXEC);
  saved_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (file_ >= 0 && saved_ >= 0 && ::dup2(file_, STDERR_FILENO) >= 0) return;
  if (saved_ >= 0) ::close(saved_);
  if (file_ >= 0) ::close(file_);
  saved_ = file_ = -1;
}

std::string CompilerLog::text() {
  if (file_ < 0) return {};
  std::fflush(stderr);
  ::dup2(saved_, STDERR_FILENO);
  std::string out;
  std::array<char, 1 << 16> part;
  ::lseek(file_, 0, SEEK_SET);
  for (ssize_t n = 0; (n = ::read(file_, part.data(), part.size())) > 0;)
    out.append(part.data(), static_cast<size_t>(n));
  ::close(saved_);
  ::close(file_);
  saved_ = file_ = -1;
  return out;
}

CompilerLog::~CompilerLog() { write_all(STDERR_FILENO, text()); }

std::vector<std::string> compiler_warnings(std::string_view log) {
  std::vector<std::string> out;
  for (const std::string_view line : split(log, '\n')) {
    const std::string_view message = trim(message_of(line));
    const bool says_nothing = std::ranges::any_of(
        kSaysNothing, [&](std::string_view start) { return message.starts_with(start); });
    if (message.empty() || says_nothing) continue;
    if (std::ranges::find(out, message) == out.end()) out.emplace_back(message);
  }
  return out;
}

}  // namespace axle
