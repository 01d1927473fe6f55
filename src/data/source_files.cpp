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

// "not *.jsonl or *.json"
std::string not_one_of(std::span<const std::string_view> endings) {
  std::vector<std::string> patterns;
  for (const std::string_view ending : endings) patterns.push_back(fmt::format("*{}", ending));
  return "not " + join(patterns, " or ");
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
        skips.skip(not_one_of(endings), entry.string());
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

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
    const std::vector<std::string> files =
        directory_exists(name) ? files_below(name, endings, skips) : std::vector<std::string>{name};
    for (const std::string& path : files) {
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
