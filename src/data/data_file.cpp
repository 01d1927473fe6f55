#include "data/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/chat/chat_layout.h"
#include "data/text_source.h"
#include "data/token_files/corpus_reader.h"
#include "io/file.h"
#include "io/parquet/parquet_texts.h"

namespace axle {
namespace {

// Records that are looked at: one of them shows what a file holds.
constexpr int kMostRecords = 1000;

// A damaged conversation is one: its source says what is wrong.
DataKind kind_of_object(const nlohmann::ordered_json& record) {
  const auto format = chat_format_of(record);
  // Texts may have a question and an answer of their own beside them.
  const bool is_text = format == ChatFormat::kCompletion && record.contains("text") &&
                       !record.contains("completion");
  if (!format || is_text) return DataKind::kCorpus;
  return format == ChatFormat::kPreference ? DataKind::kPreferences : DataKind::kConversations;
}

// Null for what is no record at all.
nlohmann::ordered_json record_of(std::string_view text) {
  try {
    return read_record_json(text);
  } catch (const JsonError&) {
    return nullptr;
  }
}

// The first object in a file of records. Without one, its source says what is wrong.
nlohmann::ordered_json first_object(const std::string& path) {
  try {
    JsonRecords records(path, "no record");
    for (int i = 0; i < kMostRecords; ++i) {
      const auto record = records.next();
      if (!record) break;
      if (auto json = record_of(record->bytes); json.is_object()) return json;
    }
  } catch (const StorageError&) {
  } catch (const DataError&) {
  }
  return nullptr;
}

std::vector<std::string_view> columns_of_data() {
  std::vector<std::string_view> out(kConversationFields.begin(), kConversationFields.end());
  out.emplace_back("text");
  return out;
}

// Decides by the columns and the first row. What can't be read is a matter of its source.
DataKind kind_of_table(const std::string& path) {
  try {
    ParquetTexts rows(path, columns_of_data());
    if (const auto row = rows.next()) return kind_of_object(record_of(row->text.value_or("")));
  } catch (const StorageError&) {
  } catch (const DataError&) {
  }
  return DataKind::kCorpus;
}

DataKind kind_of_file(const std::string& path) {
  if (names_records(path)) return kind_of_object(first_object(path));
  if (format_ending(path) == ".parquet") return kind_of_table(path);
  const bool is_compressed =
      format_ending(path) != lower_case(std::filesystem::path(path).extension().string());
  return is_compressed ? DataKind::kCorpus : DataKind::kText;
}

DataKind kind_of_folder(const std::string& path) {
  SkipLog others(OnError::kSkip, "");
  std::map<std::string, std::string> firsts;  // by ending, with that of a compression
  const std::vector<std::string> files =
      source_files(std::span(&path, 1), kDocumentEndings, others);
  for (const std::string& file : files)
    firsts.emplace(lower_case(std::filesystem::path(file).extension().string()), file);
  DataKind texts = DataKind::kUnknown;
  for (const auto& [ending, file] : firsts) {
    const DataKind kind = kind_of_file(file);
    // Conversations beside texts are left out, and so are .json files, which describe the texts.
    if (names_records(file) && (kind != DataKind::kCorpus || format_ending(file) == ".json"))
      continue;
    texts = joined_kind(texts, kind);
  }
  if (texts != DataKind::kUnknown || files.empty()) return texts;
  return kind_of_file(files.front());
}

bool has_row(const std::string& path) {
  try {
    return ParquetTexts(path, columns_of_data()).next().has_value();
  } catch (const NoTextColumn&) {
    return true;  // of another table
  }
}

// Throws what is wrong with the first record, if none is good.
bool has_record(const std::string& path) {
  if (format_ending(path) == ".parquet") return has_row(path);
  CorpusReader reader(path, {.unit = DocumentUnit::kLine});
  std::string problem;
  for (int i = 0; i < kMostRecords; ++i) {
    const auto record = reader.next();
    if (!record) break;
    if (!reader.is_json()) return true;
    try {
      read_record_json(record->bytes);
      return true;
    } catch (const JsonError& error) {
      if (problem.empty()) problem = fmt::format("{}:{}: {}", path, record->line, error.what());
    }
  }
  if (!problem.empty()) throw DataError(problem);
  return false;
}

}  // namespace

DataKind joined_kind(DataKind kind, DataKind other) {
  const bool is_corpus = kind == DataKind::kText && other == DataKind::kCorpus;
  return kind == DataKind::kUnknown || is_corpus ? other : kind;
}

DataKind data_kind_at(const std::string& path) {
  if (!no_texts_at(path).empty()) return DataKind::kUnknown;
  DataKind out = DataKind::kUnknown;
  for (const std::string& name : named_texts(path, "path"))
    out = joined_kind(out, directory_exists(name) ? kind_of_folder(name) : kind_of_file(name));
  return out;
}

void check_has_record(const std::string& path, std::string_view field) {
  SkipLog others(OnError::kSkip, "");
  const std::vector<std::string> named = named_texts(path, field);
  std::string problem;  // of the first file that has one
  for (const auto& file : source_files(named, kDocumentEndings, others)) {
    try {
      if (storage_error_as<DataError>([&] { return has_record(file); })) return;
    } catch (const DataError& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  throw DataError(problem.empty() ? no_document(named, others.skipped()) : problem);
}

void check_are_texts(std::span<const std::string> files, std::string_view field,
                     std::string_view advice) {
  std::string got;
  for (const std::string& file : files) {
    if (!names_records(file)) return;
    const auto record = first_object(file);
    const DataKind kind = kind_of_object(record);
    if (kind == DataKind::kCorpus || record.contains(field)) return;
    if (got.empty()) got = kind == DataKind::kPreferences ? "pairs of answers" : "conversations";
  }
  if (!got.empty())
    throw DataError(fmt::format("{}: expected texts, got {}; {}", files.front(), got, advice));
}

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
