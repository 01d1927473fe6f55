#include "data/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/lists.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/data_file.h"
#include "data/source.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "io/token_file.h"

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

namespace {

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

constexpr size_t kHeadBytes = 64 << 10;
constexpr size_t kMaxUtf8Bytes = 4;

// Returns the paths of what is there: the path itself, or those that it matches as a pattern.
std::vector<std::string> paths_named(const std::string& path) {
  const std::filesystem::path there = path_of_text(path);
  if (path_exists(there)) return {there.string()};
  if (!is_path_pattern(path)) return {};
  try {
    return matching_paths(there.string());
  } catch (const StorageError& error) {
    throw DataError(fmt::format("{}: {}", path, error.what()));
  }
}

// Token files hold what does not fit.
void check_text_fits(const std::string& path, int64_t bytes) {
  try {
    check_host_allocation(path, "its text", bytes);
  } catch (const Error& error) {
    throw Error(fmt::format("{}, or train on a token file, which axle data build makes in little "
                            "memory",
                            error.what()),
                error.code());
  }
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;  // a missing path is not an error here
  return a == b || std::filesystem::equivalent(path_of_text(a), path_of_text(b), error);
}

std::vector<std::string> named_texts(const std::string& path, std::string_view field) {
  // Of a command, which has no config.
  const bool is_argument =
      field == "SOURCES" || (field.starts_with("--") && field.find('.') == field.npos);
  std::vector<std::string> out = paths_named(path);
  if (!out.empty()) return out;
  if (const std::string problem = path_problem(path); !problem.empty())
    throw DataError(fmt::format("{}: {}", field, problem));
  throw DataError(fmt::format(
      "{}: expected a text file or a folder of them, got {}; {}", path, no_texts_at(path),
      is_argument ? fmt::format("correct {}", field) : fmt::format("set {} or --data", field)));
}

std::string no_texts_at(const std::string& path) {
  if (!paths_named(path).empty()) return {};
  std::string what = nothing_at_token_file(path);
  return what == kNothingThere && is_path_pattern(path) ? "a pattern that matches no file" : what;
}

std::vector<std::string> named_texts(const std::string& path,
                                     const std::vector<std::string>& more_paths,
                                     std::string_view source) {
  std::vector<std::string> out = named_texts(path, fmt::format("{}.path", source));
  for (size_t i = 0; i < more_paths.size(); ++i) {
    for (std::string& one : named_texts(more_paths[i], fmt::format("{}.more_paths[{}]", source, i)))
      out.push_back(std::move(one));
  }
  return out;
}

TextSource::TextSource(const Config& cfg, const Dims&, const Scope& scope)
    : unit_(cfg.unit),
      on_error_(cfg.on_error),
      skips_(on_error_, fmt::format("{}.on_error", scope.path)) {
  const std::string& path = cfg.path.get();
  const std::vector<std::string> named = named_texts(path, cfg.more_paths, scope.path);
  const bool is_one = named.size() == 1;
  is_only_document_ = is_one && unit_ == DocumentUnit::kFile && !directory_exists(named[0]);
  const TextFiles found(named, skips_);
  check_text_fits(path, found.num_bytes());
  for (const std::string& file : found.paths()) read(file);
  if (documents_.empty()) {
    const bool has_folder =
        std::ranges::any_of(named, [](const std::string& name) { return directory_exists(name); });
    throw DataError(fmt::format(
        "{}: expected text{}, got no document{}{}", is_one ? path : join(named, ", "),
        has_folder ? " in *.txt files" : "", skipped().count > 0 ? "; " : "", to_text(skipped())));
  }
}

// Reads only the head of a file that will be refused for bytes in its head: the file may be as
// large as a disk.
std::string TextSource::bytes_of(const std::string& path) const {
  if (unit_ == DocumentUnit::kFile || on_error_ == OnError::kFail) {
    const FileReader file(path);
    std::string head(file.size() > int64_t{kHeadBytes} ? kHeadBytes : 0, '\0');
    head.resize(file.read_some(0, std::as_writable_bytes(std::span(head))));
    if (const auto bad = first_bad_byte(head); bad && *bad + kMaxUtf8Bytes <= head.size())
      return head;
  }
  return read_file(path, std::numeric_limits<int64_t>::max());
}

void TextSource::read(const std::string& path) {
  try {
    files_.push_back(bytes_of(path));
  } catch (const StorageError& error) {
    return refuse("not readable", path, error.what());
  }
  std::string_view text = files_.back();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t before = documents_.size();
  if (const auto why = why_no_plain_text(path, text, /*is_all=*/true))
    refuse(why->reason, path, why->message);
  else
    add_documents(path, text);
  if (documents_.size() == before) files_.pop_back();
}

void TextSource::add_documents(const std::string& path, std::string_view rest) {
  if (unit_ == DocumentUnit::kFile) return add_document(path, 1, rest);

  // Every document also stores its location, both here and in the split that is selected from it.
  const int64_t num_lines = std::ranges::count(rest, '\n');
  const auto bytes_each = static_cast<int64_t>(2 * (sizeof(Document) + path.size() + 32));
  check_host_allocation(path, "its documents",
                        (unit_ == DocumentUnit::kLine ? num_lines : num_lines / 2) * bytes_each);
  std::string_view paragraph;
  int64_t paragraph_line = 0;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (unit_ == DocumentUnit::kLine) {
      if (!is_blank(line)) add_document(path, number, without_line_end(line));
    } else if (!is_blank(line)) {
      if (paragraph.empty()) paragraph_line = number;
      const char* begin = paragraph.empty() ? line.data() : paragraph.data();
      paragraph = {begin, static_cast<size_t>(line.data() + line.size() - begin)};
    } else if (!paragraph.empty()) {
      add_document(path, paragraph_line, std::exchange(paragraph, {}));
    }
  }
  if (!paragraph.empty()) add_document(path, paragraph_line, paragraph);
}

void TextSource::add_document(const std::string& path, int64_t line, std::string_view text) {
  if (const auto bad = bad_text(path, line, text))
    refuse(bad->reason, bad->where, bad->message);
  else
    documents_.push_back({text, fmt::format("{}:{}", path, line)});
}

void TextSource::refuse(const std::string& reason, const std::string& name,
                        const std::string& message) {
  if (is_only_document_ && on_error_ == OnError::kFail) throw DataError(message);
  skips_.refuse(reason, name, message);
}

AXLE_REGISTER(TextSource)

}  // namespace axle
