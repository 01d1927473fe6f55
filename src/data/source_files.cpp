#include "data/source_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "io/file.h"

namespace axle {
namespace {

bool is_hidden_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::ranges::any_of(path.lexically_relative(folder),
                             [](const auto& part) { return part.string().starts_with('.'); });
}

// "*.jsonl or *.json"
std::string patterns_of(std::span<const std::string_view> endings) {
  std::vector<std::string> patterns;
  for (const std::string_view ending : endings) patterns.push_back(fmt::format("*{}", ending));
  return join(patterns, " or ");
}

std::vector<std::string> files_below(const std::string& path,
                                     std::span<const std::string_view> endings, SkipLog& skips) {
  std::vector<std::string> out;
  std::vector<std::filesystem::path> folders = {path};
  while (!folders.empty()) {
    const std::filesystem::path folder = folders.back();
    folders.pop_back();
    std::vector<std::filesystem::path> entries;
    try {
      entries = list_directory(folder);
    } catch (const StorageError& error) {
      skips.refuse("not readable", folder.string(), error.what());
      continue;
    }
    for (const auto& entry : entries) {
      std::error_code error;
      if (is_hidden_below(entry, folder))
        skips.skip("hidden", entry.string());
      else if (std::filesystem::is_directory(std::filesystem::symlink_status(entry, error)))
        folders.push_back(entry);
      else if (std::ranges::count(endings, format_ending(entry)) > 0)
        out.push_back(entry.string());
      else
        skips.skip("not " + patterns_of(endings), entry.string());
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

void refuse_folder(const std::string& path, std::string_view patterns, SkipLog& skips) {
  skips.refuse(
      "without data", path,
      fmt::format("{}: expected a folder with files {}, got none of them", path, patterns));
}

bool refuse_broken_link(const std::filesystem::path& path, SkipLog& skips) {
  std::error_code error;
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) return false;
  const auto end = std::filesystem::status(path, error).type();  // a ring of links has none
  if (end != std::filesystem::file_type::not_found && end != std::filesystem::file_type::none)
    return false;
  skips.refuse("linked to nothing", path.string(),
               fmt::format("{}: expected a file, got a link to nothing ({})", path.string(),
                           error.message()));
  return true;
}

std::string format_ending(const std::filesystem::path& path) {
  const std::string extension = lower_case(path.extension().string());
  if (extension != ".gz" && extension != ".zst") return extension;
  return lower_case(path.stem().extension().string());
}

std::vector<std::string> source_files(std::span<const std::string> named,
                                      std::span<const std::string_view> endings, SkipLog& skips) {
  std::vector<std::string> out;
  std::set<std::filesystem::path> seen;
  for (const std::string& name : named) {
    const bool is_folder = directory_exists(name);
    const std::vector<std::string> files =
        is_folder ? files_below(name, endings, skips) : std::vector<std::string>{name};
    if (is_folder && files.empty() && named.size() > 1)
      refuse_folder(name, patterns_of(endings), skips);
    for (const std::string& path : files) {
      if (refuse_broken_link(path, skips)) continue;
      std::error_code error;
      const auto canonical = std::filesystem::canonical(path, error);
      if (!error && !seen.insert(canonical).second)
        skips.skip("named or linked before", path);
      else
        out.push_back(path);
    }
  }
  return out;
}

}  // namespace axle
