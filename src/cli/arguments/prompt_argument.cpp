#include "cli/arguments/prompt_argument.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "io/file.h"

namespace axle::cli {
namespace {

constexpr size_t kMaxPromptBytes = 16 << 20;

}  // namespace

std::string read_prompt(const std::string& argument) {
  if (argument != "-") return argument;
  std::string text;
  std::array<char, 4096> part;
  while (std::cin.read(part.data(), part.size()), std::cin.gcount() > 0) {
    text.append(part.data(), static_cast<size_t>(std::cin.gcount()));
    if (text.size() > kMaxPromptBytes)
      throw ConfigError("--prompt: expected at most 16 MiB on stdin, got more");
  }
  // A failed read of stdin also puts std::cin at its end.
  if (std::ferror(stdin)) fail_storage("stdin", "read the prompt", errno);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace axle::cli
