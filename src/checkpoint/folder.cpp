#include "checkpoint/folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "io/file.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "step_";
constexpr std::string_view kTemporary = ".tmp-";
constexpr std::string_view kReplaced = "-old";  // suffix to the name of a temporary folder

std::string checkpoint_name(int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

// Returns the step of "step_00000100"; none for any other name.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  int64_t step = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, step);
  if (error != std::errc() || at != end || step < 0) return std::nullopt;
  return name == checkpoint_name(step) ? std::optional(step) : std::nullopt;
}

// Returns the step of "step_00000100.tmp-<pid>", with any suffix.
std::optional<int64_t> step_of_temporary(std::string_view name) {
  const size_t at = name.find(kTemporary);
  return at == std::string_view::npos ? std::nullopt : step_of(name.substr(0, at));
}

}  // namespace

fs::path checkpoint_folder(const fs::path& root, int64_t step) {
  return root / checkpoint_name(step);
}

fs::path temporary_folder(const fs::path& root, int64_t step) {
  return checkpoint_folder(root, step).string() + fmt::format("{}{}", kTemporary, ::getpid());
}

fs::path replaced_folder(const fs::path& root, int64_t step) {
  return temporary_folder(root, step).string() + std::string(kReplaced);
}

std::vector<int64_t> checkpoint_steps(const fs::path& root) {
  std::vector<int64_t> steps;
  std::error_code error;
  const auto status = fs::status(root, error);
  if (error && status.type() != fs::file_type::not_found)
    fail_storage(root, "inspect", error.value());
  if (!fs::is_directory(status)) return steps;
  for (const fs::path& entry : list_directory(root)) {
    if (const auto step = step_of(entry.filename().string())) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

std::vector<int64_t> interrupted_steps(const fs::path& root) {
  std::vector<int64_t> steps;
  if (!directory_exists(root)) return steps;
  for (const fs::path& entry : list_directory(root)) {
    const std::string name = entry.filename().string();
    const auto step = step_of_temporary(name);
    if (step && name.ends_with(kReplaced) && !path_exists(checkpoint_folder(root, *step)))
      steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

void remove_stale_checkpoints(const fs::path& root) {
  for (const fs::path& entry : list_directory(root)) {
    const std::string name = entry.filename().string();
    const auto step = step_of_temporary(name);
    if (!step) continue;
    const fs::path place = checkpoint_folder(root, *step);
    if (name.ends_with(kReplaced) && !path_exists(place))
      rename_durably(entry, place);
    else
      remove_tree(entry);
  }
}

void remove_old_checkpoints(const fs::path& root, int64_t newest, const Retention& retention) {
  std::vector<int64_t> steps = checkpoint_steps(root);
  std::erase_if(steps, [&](int64_t step) { return step > newest; });
  const auto keep = static_cast<size_t>(std::max<int64_t>(retention.keep_last_n, 1));
  if (steps.size() <= keep) return;
  steps.resize(steps.size() - keep);
  for (const int64_t step : steps) {
    if (retention.keep_every_steps && step % *retention.keep_every_steps == 0) continue;
    // The folder is renamed first: a crash in the middle must not leave a partial checkpoint under
    // the name of a whole one.
    const fs::path doomed = temporary_folder(root, step);
    rename_durably(checkpoint_folder(root, step), doomed);
    remove_tree(doomed);
  }
}

void check_config_file(const std::filesystem::path& run) {
  const std::filesystem::path config = config_file_of(run);
  if (path_exists(config)) return;
  if (const std::string found = nothing_at(config); found != kNothingThere)
    throw ConfigError(fmt::format("{}: expected a file, got {}", config.string(), found));
  throw ConfigError(
      fmt::format("{}: expected the folder of a run or of an import, got one without config.yaml",
                  run.string()));
}

}  // namespace axle
