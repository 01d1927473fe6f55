#include "runtime/compiler_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
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

// Static: a signal handler uses them. -1: nothing is being taken.
int g_saved = -1, g_file = -1;
struct sigaction g_before;

void pass_on(int from, int to) {
  std::array<char, 1 << 12> part;
  off_t at = 0;
  for (ssize_t n = 0; (n = ::pread(from, part.data(), part.size(), at)) > 0; at += n)
    write_all(to, {part.data(), static_cast<size_t>(n)});
}

extern "C" void show_and_abort(int signal) {
  pass_on(g_file, g_saved);
  ::sigaction(signal, &g_before, nullptr);
  ::raise(signal);
}

}  // namespace

void let_plugins_warn() { ::setenv("TF_CPP_MIN_LOG_LEVEL", "1", /*overwrite=*/0); }

CompilerLog::CompilerLog() {
  std::fflush(stderr);
  g_file = ::memfd_create("compiler log", MFD_CLOEXEC);
  g_saved = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  struct sigaction action = {};
  action.sa_handler = show_and_abort;
  if (g_file >= 0 && g_saved >= 0 && ::dup2(g_file, STDERR_FILENO) >= 0 &&
      ::sigaction(SIGABRT, &action, &g_before) == 0)
    return;
  if (g_saved >= 0) ::close(g_saved);
  if (g_file >= 0) ::close(g_file);
  g_saved = g_file = -1;
}

std::string CompilerLog::text() {
  if (g_file < 0) return {};
  std::fflush(stderr);
  ::dup2(g_saved, STDERR_FILENO);
  ::sigaction(SIGABRT, &g_before, nullptr);
  std::string out;
  std::array<char, 1 << 16> part;
  ::lseek(g_file, 0, SEEK_SET);
  for (ssize_t n = 0; (n = ::read(g_file, part.data(), part.size())) > 0;)
    out.append(part.data(), static_cast<size_t>(n));
  ::close(g_saved);
  ::close(g_file);
  g_saved = g_file = -1;
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
