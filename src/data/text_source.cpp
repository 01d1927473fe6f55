#include "data/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "config/register.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr size_t kMaxMessages = 100;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::vector<std::string> text_files(const std::string& path) {
  if (!directory_exists(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : list_directory(path)) {
    if (directory_exists(entry))
      std::ranges::move(text_files(entry.string()), std::back_inserter(files));
    else if (entry.extension() == ".txt")
      files.push_back(entry.string());
  }
  return files;
}

// Cuts the next line off `rest`, with its line end.
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

}  // namespace

std::string to_text(DocumentUnit unit) {
  return unit == DocumentUnit::kFile        ? "file"
         : unit == DocumentUnit::kParagraph ? "paragraph"
                                            : "line";
}

void from_text(std::string_view text, DocumentUnit& unit) {
  if (text == "file")
    unit = DocumentUnit::kFile;
  else if (text == "paragraph")
    unit = DocumentUnit::kParagraph;
  else if (text == "line")
    unit = DocumentUnit::kLine;
  else
    throw ConfigError(fmt::format("expected file, paragraph or line, got '{}'", text));
}

std::string to_text(OnError policy) { return policy == OnError::kFail ? "fail" : "skip"; }

void from_text(std::string_view text, OnError& policy) {
  if (text == "fail")
    policy = OnError::kFail;
  else if (text == "skip")
    policy = OnError::kSkip;
  else
    throw ConfigError(fmt::format("expected fail or skip, got '{}'", text));
}

TextSource::TextSource(const Config& cfg, const Dims&, const Scope& scope)
    : unit_(cfg.unit),
      on_error_(cfg.on_error),
      policy_path_(fmt::format("{}.on_error", scope.path)) {
  const std::string& path = cfg.path.get();
  if (!path_exists(path)) {
    throw DataError(fmt::format(
        "{}: expected a text file or a folder of them, got nothing there; set {}.path or --data",
        path, scope.path));
  }
  std::vector<std::string> files;
  try {
    files = text_files(path);
  } catch (const StorageError& error) {
    throw DataError(error.what());
  }
  if (files.empty())
    throw DataError(fmt::format("{}: expected *.txt files, got none in the folder", path));
  for (const auto& file : files) add_file(file);
  if (documents_.empty()) {
    throw DataError(
        fmt::format("{}: expected text, got no document; {} skipped", path, skipped_.count));
  }
}

void TextSource::add_file(const std::string& path) {
  try {
    files_.push_back(read_file(path, std::numeric_limits<int64_t>::max()));
  } catch (const StorageError& error) {
    return refuse(error.what());
  }
  std::string_view rest = files_.back();
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  if (is_blank(rest)) return refuse(fmt::format("{}: expected text, got an empty file", path));
  if (unit_ == DocumentUnit::kFile) return add_document(path, 1, rest);

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
  if (const auto bad = find_invalid_utf8(text)) {
    const std::string_view before = text.substr(0, *bad);
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return refuse(fmt::format("{}:{}: not valid UTF-8 at byte {}", path,
                              line + std::ranges::count(before, '\n'), *bad - line_begin + 1));
  }
  documents_.push_back({text, fmt::format("{}:{}", path, line)});
}

void TextSource::refuse(const std::string& message) {
  if (on_error_ == OnError::kFail)
    throw DataError(fmt::format("{}; {} = skip leaves it out", message, policy_path_));
  ++skipped_.count;
  if (skipped_.messages.size() < kMaxMessages) {
    skipped_.messages.push_back(
        fmt::format("{}; skipped ({} = skip, {} so far)", message, policy_path_, skipped_.count));
  }
}

AXLE_REGISTER(TextSource)

}  // namespace axle
