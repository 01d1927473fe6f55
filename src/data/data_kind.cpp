#include "data/data_kind.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text/json.h"
#include "data/chat/chat_layout.h"
#include "data/json_records.h"
#include "data/source_files.h"
#include "data/text_source.h"
#include "io/file.h"
#include "io/parquet/parquet_texts.h"

namespace axle {
namespace {

// A damaged conversation is one: its source says what is wrong.
std::optional<DataKind> kind_of_object(const nlohmann::ordered_json& record) {
  if (!record.is_object()) return std::nullopt;
  const auto format = chat_format_of(record);
  // Texts may have a question and an answer of their own beside them.
  const bool is_text = format == ChatFormat::kCompletion && record.contains("text") &&
                       !record.contains("completion");
  if (!format || is_text) return DataKind::kCorpus;
  return format == ChatFormat::kPreference ? DataKind::kPreferences : DataKind::kConversations;
}

// None for what is no record at all.
std::optional<DataKind> kind_of_record(std::string_view text) {
  try {
    return kind_of_object(read_record_json(text));
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

// Tells by the first record of the file. Without one, its source says what is wrong.
DataKind kind_of_records(const std::string& path) {
  constexpr int kMostRecords = 1000;
  try {
    JsonRecords records(path, "no record");
    for (int i = 0; i < kMostRecords; ++i) {
      const auto record = records.next();
      if (!record) break;
      if (const auto kind = kind_of_record(record->bytes)) return *kind;
    }
  } catch (const StorageError&) {
  } catch (const DataError&) {
  }
  return DataKind::kCorpus;
}

// Tells by the columns and the first row. What can't be read is a matter of its source.
DataKind kind_of_table(const std::string& path) {
  try {
    std::vector<std::string_view> columns(kConversationFields.begin(), kConversationFields.end());
    columns.emplace_back("text");
    ParquetTexts rows(path, columns);
    if (const auto row = rows.next())
      return kind_of_record(row->text.value_or("")).value_or(DataKind::kCorpus);
  } catch (const StorageError&) {
  } catch (const DataError&) {
  }
  return DataKind::kCorpus;
}

DataKind kind_of_file(const std::string& path) {
  if (names_records(path)) return kind_of_records(path);
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

}  // namespace axle
