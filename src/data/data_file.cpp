#include "data/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/text_source.h"
#include "io/file.h"

namespace axle {
namespace {

// Published vocabularies have up to 20 MB, for a million pieces.
constexpr int64_t kMaxBytes = int64_t{64} << 20;

template <class Read>
std::string read_checked(const std::string& path, std::string_view field, std::string_view expected,
                         std::string_view format, Read read) {
  if (const std::string problem = path_problem(path); !problem.empty())
    throw DataError(fmt::format("{}: {}", field, problem));
  const std::filesystem::path file = path_of_text(path);
  if (!path_exists(file)) {
    throw DataError(
        fmt::format("{}: expected a file, got {}; set {}", path, nothing_at(file), field));
  }
  std::string bytes = storage_error_as<DataError>([&] { return read(file, kMaxBytes); });
  check_format<DataError>(path, expected, format, bytes);
  return bytes;
}

}  // namespace

std::string read_data_file(const std::string& path, std::string_view field,
                           std::string_view expected) {
  return read_checked(path, field, expected, expected, read_file);
}

std::string read_data_stream(const std::string& path, std::string_view field,
                             std::string_view expected, std::string_view format) {
  return read_checked(path, field, expected, format, read_stream);
}

namespace {

bool is_whole_object(std::string_view line) {
  return trim(line).starts_with('{') && trim(line).ends_with('}');
}

}  // namespace

bool names_records(const std::string& path) {
  constexpr auto kEndings = std::to_array<std::string_view>({".jsonl", ".ndjson", ".json"});
  return std::ranges::count(kEndings, format_ending(path)) > 0;
}

JsonRecords::JsonRecords(const std::string& path, LineReader lines, const char* if_none)
    : path_(path), lines_(std::move(lines)), first_(next_line()) {
  if (!first_) return;
  // A list in one line is a list too; what is in one line of a *.json file may be lines.
  const bool is_list = trim(first_->bytes).starts_with('[');
  const bool is_value = format_ending(path) == ".json" && !is_whole_object(first_->bytes);
  if (is_list || is_value) read_list(if_none);
}

void JsonRecords::read_list(const char* if_none) {
  std::string text = std::exchange(first_, std::nullopt)->bytes;
  while (const auto line = lines_.next()) {
    text += '\n';
    text += *line;
    if (text.size() <= kMaxJsonBytes) continue;
    throw StorageError(
        fmt::format("{}: expected a JSON list of at most {} bytes, got more; write one record a "
                    "line",
                    path_, kMaxJsonBytes));
  }
  try {
    list_ = read_record_json(text);
  } catch (const JsonError& error) {
    throw NotText(fmt::format("{}: {}", path_, error.what()), if_none);
  }
  if (list_->is_array()) return;
  throw NotText(fmt::format("{}: expected a list of records, or one in each line, got one value of "
                            "several lines",
                            path_),
                if_none);
}

std::optional<RawDocument> JsonRecords::next() {
  if (!list_) return first_ ? std::exchange(first_, std::nullopt) : next_line();
  if (next_ == list_->size()) return std::nullopt;
  RawDocument out{.bytes = (*list_)[next_].dump()};
  out.line = static_cast<int64_t>(++next_);
  return out;
}

std::optional<RawDocument> JsonRecords::next_line() {
  while (const auto line = lines_.next()) {
    if (!trim(*line).empty())
      return RawDocument{.bytes = std::string(*line), .line = lines_.number()};
  }
  return std::nullopt;
}

}  // namespace axle
