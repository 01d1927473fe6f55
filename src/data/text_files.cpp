#include "data/text_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/json_records.h"
#include "data/source_files.h"
#include "io/byte_stream.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr std::string_view kJson = "JSON";

bool is_json_object(std::string_view line) {
  if (!line.starts_with('{')) return false;
  try {
    return !read_record_json(line).empty();
  } catch (const JsonError&) {
    return false;
  }
}

// Returns the format of a file that is not text for people; "" if it may be such text.
std::string_view other_format(const std::string& path, std::string_view bytes) {
  const FileFormat* const format = recognized_format(bytes.substr(0, kFormatHeadBytes));
  // People also learn from the texts of pages and tables. A pointer is no such text.
  if (format && !format->is_useful_text()) return format->name;
  return names_records(path) || hold_json_lines(bytes) ? kJson : "";
}

}  // namespace

std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end == rest.npos ? end : end + 1);
  rest.remove_prefix(line.size());
  return line;
}

bool hold_json_lines(std::string_view begin) {
  std::string_view rest = begin;
  const auto next_line = [&] {
    std::string_view line;
    while (!rest.empty() && line.empty()) line = trim(take_line(rest));
    return line;
  };
  // An object in a list, or one of which the beginning is all that is there.
  const auto is_begun = [&](std::string_view line) {
    if (line.starts_with('[')) line = trim(line.substr(1));
    return line.starts_with('{') && trim(line.substr(1)).starts_with('"');
  };
  const std::string_view first = next_line();
  if (first == "[") return is_begun(next_line());
  if (first.starts_with('[')) return is_begun(first);
  if (rest.empty() && !first.ends_with('}')) return is_begun(first);
  if (!is_json_object(first)) return false;
  const std::string_view second = next_line();
  return second.empty() || is_json_object(second) || (rest.empty() && is_begun(second));
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == text.npos; }

std::optional<NoPlainText> why_no_plain_text(const std::string& path, std::string_view begin,
                                             bool is_all) {
  if (is_all && is_blank(begin)) {
    return NoPlainText{"empty", fmt::format("{}: expected text, got {}", path,
                                            begin.empty() ? "an empty file" : "a file of blanks")};
  }
  const std::string_view format = other_format(path, begin);
  if (format.empty()) {
    const std::string problem = compression_problem(path, begin);
    if (problem.empty()) return std::nullopt;
    return NoPlainText{"not compressed", fmt::format("{}: {}", path, problem)};
  }
  const FileFormat* const known = recognized_format(begin.substr(0, kFormatHeadBytes));
  const std::string advice = format == kJson
                                 ? std::string(kNamesOfRecords)
                                 : advice_on_data(known && known->name == format ? known : nullptr);
  return NoPlainText{std::string(format), fmt::format("{}: expected plain UTF-8 text, got {}; {}",
                                                      path, format, advice)};
}

std::string advice_on_data(const FileFormat* format) {
  const bool is_model = format && format->is_model;
  if (format && !format->advice.empty() && !is_model) return std::string(format->advice);
  return fmt::format("data are texts, JSON Lines, Parquet, conversations or token files{}",
                     is_model ? "; a model to begin with is named by --init-from" : "");
}

TextFiles::TextFiles(std::span<const std::string> named, SkipLog& skips) : skips_(skips) {
  for (const std::string& path : named) {
    const size_t before = paths_.size() + num_repeats_;
    add_named(path);
    if (named.size() > 1 && paths_.size() + num_repeats_ == before && directory_exists(path))
      refuse_folder(path, "*.txt", skips);
  }
}

int64_t TextFiles::num_bytes() const {
  int64_t sum = 0;
  for (const std::string& path : paths_) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error) sum = saturating_sum(sum, static_cast<int64_t>(bytes));
  }
  return sum;
}

void TextFiles::skip_repeat(const std::string& path) {
  ++num_repeats_;
  skips_.skip("named or linked before", path);
}

void TextFiles::add_named(const std::string& path) {
  if (refuse_broken_link(path, skips_)) return;
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(path, error);
  if (!error && !seen_.insert(canonical).second) return skip_repeat(path);
  if (directory_exists(path))
    add_folder(path, canonical);
  else
    paths_.push_back(path);
}

void TextFiles::add_folder(const std::filesystem::path& folder,
                           const std::filesystem::path& canonical) {
  std::vector<std::filesystem::path> entries;
  try {
    entries = list_directory(folder);
  } catch (const StorageError& error) {
    return skips_.refuse("not readable", folder.string(), error.what());
  }
  for (const auto& entry : entries) {
    // What editors and version control keep beside texts.
    if (entry.filename().string().starts_with('.')) {
      skips_.skip("hidden", entry.string());
      continue;
    }
    std::error_code error;
    const bool is_link = std::filesystem::is_symlink(entry, error);
    const auto end =
        is_link ? std::filesystem::canonical(entry, error) : canonical / entry.filename();
    if (error == std::errc::permission_denied)
      skips_.refuse("not readable", entry.string(),
                    fmt::format("{}: cannot read: {}", entry.string(), error.message()));
    else if (error && entry.has_extension() && entry.extension() != ".txt")
      skips_.skip("not *.txt", entry.string());
    // Without an extension it may have been a folder of texts.
    else if (!error || !refuse_broken_link(entry, skips_))
      add_entry(entry, end);
  }
}

void TextFiles::add_entry(const std::filesystem::path& path,
                          const std::filesystem::path& canonical) {
  const bool is_folder = directory_exists(path);
  if (!is_folder && path.extension() != ".txt") return skips_.skip("not *.txt", path.string());
  if (!seen_.insert(canonical).second) return skip_repeat(path.string());
  if (is_folder)
    add_folder(path, canonical);
  else
    paths_.push_back(path.string());
}

}  // namespace axle
