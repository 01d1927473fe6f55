#include "data/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/bad_text.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "io/matching_paths.h"
#include "io/user_path.h"

namespace axle {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Cuts the next line, including its line end, off `rest`.
std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end == rest.npos ? end : end + 1);
  rest.remove_prefix(line.size());
  return line;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n\f\v") == line.npos; }

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_json_object(std::string_view line) {
  if (!line.starts_with('{')) return false;
  try {
    return !read_json(line).empty();
  } catch (const JsonError&) {
    return false;
  }
}

// Returns the format of a file that is not text for people; "" if it may be such text.
std::string_view other_format(const std::string& path, std::string_view bytes) {
  const FileFormat* const format = recognized_format(bytes.substr(0, kFormatHeadBytes));
  // People also learn from the texts of pages and tables. A pointer is no such text.
  if (format && (!format->is_text || format->name.find("pointer") != format->name.npos))
    return format->name;
  const std::string extension = lower_case(std::filesystem::path(path).extension().string());
  if (extension == ".jsonl" || extension == ".ndjson" || extension == ".json") return "JSON";
  // One line of JSON may begin a text. Two of them, or a file with nothing else, are a data set.
  std::string_view rest = bytes;
  const auto next_line = [&] {
    std::string_view line;
    while (!rest.empty() && line.empty()) line = trim(take_line(rest));
    return line;
  };
  if (!is_json_object(next_line())) return {};
  const std::string_view second = next_line();
  return second.empty() || is_json_object(second) ? "JSON" : "";
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

// Ignores files that cannot be read: reading them later reports the error.
int64_t total_bytes(const std::vector<std::string>& paths) {
  int64_t sum = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error) sum = saturating_sum(sum, static_cast<int64_t>(bytes));
  }
  return sum;
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
  constexpr std::string_view kSources = "SOURCES";  // of a command, which has no config
  std::vector<std::string> out = paths_named(path);
  if (!out.empty()) return out;
  if (const std::string problem = path_problem(path); !problem.empty())
    throw DataError(fmt::format("{}: {}", field, problem));
  throw DataError(fmt::format(
      "{}: expected a text file or a folder of them, got {}; {}", path, no_texts_at(path),
      field == kSources ? "correct SOURCES" : fmt::format("set {} or --data", field)));
}

std::string no_texts_at(const std::string& path) {
  if (!paths_named(path).empty()) return {};
  std::string what = nothing_at(path_of_text(path));
  return what == kNothingThere && is_path_pattern(path) ? "a pattern that matches no file" : what;
}

TextSource::TextSource(const Config& cfg, const Dims&, const Scope& scope)
    : unit_(cfg.unit),
      on_error_(cfg.on_error),
      skips_(on_error_, fmt::format("{}.on_error", scope.path)) {
  const std::string field = fmt::format("{}.path", scope.path);
  std::vector<std::string> named = named_texts(cfg.path.get(), field);
  for (size_t i = 0; i < cfg.more_paths.size(); ++i) {
    for (std::string& path :
         named_texts(cfg.more_paths[i], fmt::format("{}.more_paths[{}]", scope.path, i)))
      named.push_back(std::move(path));
  }
  const bool is_one = named.size() == 1;
  is_only_document_ = is_one && unit_ == DocumentUnit::kFile && !directory_exists(named[0]);
  for (const std::string& path : named) add_named(path);
  const std::string& path = cfg.path.get();
  check_text_fits(path, total_bytes(paths_));
  for (const std::string& file : paths_) read(file);
  if (documents_.empty()) {
    const bool has_folder =
        std::ranges::any_of(named, [](const std::string& name) { return directory_exists(name); });
    throw DataError(fmt::format(
        "{}: expected text{}, got no document{}{}", is_one ? path : join(named, ", "),
        has_folder ? " in *.txt files" : "", skipped().count > 0 ? "; " : "", to_text(skipped())));
  }
}

void TextSource::add_named(const std::string& path) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(path, error);
  if (!error && !seen_.insert(canonical).second) return skips_.skip("named or linked before", path);
  if (directory_exists(path))
    add_folder(path, canonical);
  else
    paths_.push_back(path);
}

void TextSource::add_folder(const std::filesystem::path& folder,
                            const std::filesystem::path& canonical) {
  std::vector<std::filesystem::path> entries;
  try {
    entries = list_directory(folder);
  } catch (const StorageError& error) {
    return refuse("not readable", folder.string(), error.what());
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
      refuse("not readable", entry.string(),
             fmt::format("{}: cannot read: {}", entry.string(), error.message()));
    else if (error && entry.has_extension() && entry.extension() != ".txt")
      skips_.skip("not *.txt", entry.string());
    else if (error)  // without an extension it may have been a folder of texts
      refuse("links to nothing", entry.string(),
             fmt::format("{}: expected a file, got a link to nothing ({})", entry.string(),
                         error.message()));
    else
      add_entry(entry, end);
  }
}

void TextSource::add_entry(const std::filesystem::path& path,
                           const std::filesystem::path& canonical) {
  const bool is_folder = directory_exists(path);
  if (!is_folder && path.extension() != ".txt") return skips_.skip("not *.txt", path.string());
  if (!seen_.insert(canonical).second) return skips_.skip("named or linked before", path.string());
  if (is_folder)
    add_folder(path, canonical);
  else
    paths_.push_back(path.string());
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
  if (is_blank(text)) {
    refuse("empty", path,
           fmt::format("{}: expected text, got {}", path,
                       text.empty() ? "an empty file" : "a file of blanks"));
  } else if (const std::string_view format = other_format(path, text); !format.empty()) {
    const FileFormat* const known = recognized_format(text.substr(0, kFormatHeadBytes));
    refuse(std::string(format), path,
           fmt::format("{}: expected plain UTF-8 text, got {}; {}", path, format,
                       known && known->name == format && !known->advice.empty()
                           ? known->advice
                           : "only plain text is supported here; axle data build makes a token "
                             "file of JSON Lines"));
  } else {
    add_documents(path, text);
  }
  if (documents_.size() == before) files_.pop_back();
}

void TextSource::add_documents(const std::string& path, std::string_view rest) {
  if (unit_ == DocumentUnit::kFile) return add_document(path, 1, rest);

  // Every document also stores its place, both here and in the split that is selected from it.
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
