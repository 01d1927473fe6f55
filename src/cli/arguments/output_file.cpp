#include "cli/arguments/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "checkpoint/manifest.h"
#include "io/file.h"

namespace axle::cli {
namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code neither_is_there;
  return fs::equivalent(a, b, neither_is_there);
}

// Links are followed as far as there is something.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : real;
}

bool is_of_model_folder(const fs::path& file) {
  constexpr std::array<std::string_view, 3> kOwn = {"config.yaml", "metrics.jsonl", "lock"};
  const fs::path folder = file.parent_path();
  if (std::ranges::count(kOwn, file.filename().string()) > 0 &&
      directory_exists(folder / "checkpoints"))
    return true;
  for (fs::path above = folder; above.has_relative_path(); above = above.parent_path()) {
    if (path_exists(above / kManifestName)) return true;
  }
  return false;
}

}  // namespace

void check_output_file(std::string_view flag, const std::string& file,
                       const std::vector<std::string>& inputs) {
  if (file.empty()) return;
  const auto is_input = [&](const std::string& input) {
    return !input.empty() && is_same(file, input);
  };
  if (std::ranges::any_of(inputs, is_input)) {
    throw ConfigError(fmt::format(
        "{}: expected a file of its own, got {}, which this command reads; name another", flag,
        file));
  }
  if (is_of_model_folder(real_path(file))) {
    throw ConfigError(
        fmt::format("{}: expected a file of its own, got {}, which belongs to a run or an import; "
                    "name another",
                    flag, file));
  }
}

}  // namespace axle::cli
