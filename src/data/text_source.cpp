#include "data/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/bad_text.h"
#include "data/text_files.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "io/matching_paths.h"
#include "io/token_file.h"
#include "io/user_path.h"

namespace axle {
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
