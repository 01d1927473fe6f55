#include "pjrt/compile/compiler_warnings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "base/text/text.h"

namespace axle {
namespace {

// Starts of messages that XLA writes for every program of ours.
constexpr std::array<std::string_view, 2> kSaysNothing = {
    "Module contains sdy shardings",  // this plugin reads no other form of shardings yet
    "All log messages before absl::InitializeLog()"};

// "W1121 23:12:12.335242    2503 file.cc:3402] message".
std::string_view message_of(std::string_view line) {
  const bool is_warning =
      line.size() > 5 && (line[0] == 'W' || line[0] == 'E') &&
      std::ranges::all_of(line.substr(1, 4), [](unsigned char c) { return std::isdigit(c) != 0; });
  const size_t bracket = line.find("] ");
  return is_warning && bracket != line.npos ? line.substr(bracket + 2) : std::string_view{};
}

}  // namespace

void enable_plugin_warnings() { ::setenv("TF_CPP_MIN_LOG_LEVEL", "1", /*overwrite=*/0); }

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
