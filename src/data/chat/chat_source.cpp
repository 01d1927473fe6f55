#include "data/chat/chat_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/source_files.h"
#include "data/text_source.h"
#include "io/file.h"
#include "io/line_reader.h"

namespace axle {
namespace {

constexpr auto kEndings = std::to_array<std::string_view>({".jsonl", ".json"});

bool has_records(const std::filesystem::path& path) {
  return std::ranges::count(kEndings, format_ending(path)) > 0;
}

DataKind kind_of_record(const nlohmann::ordered_json& record) {
  return messages_of(record, ChatFormat::kAuto).contains("chosen") ? DataKind::kPreferences
                                                                   : DataKind::kConversations;
}

// Tells by the first record of the file.
DataKind kind_of_records(const std::string& path) {
  try {
    LineReader lines(path);
    std::string list;
    while (const auto line = lines.next()) {
      const std::string_view text = trim(*line);
      if (text.empty()) continue;
      if (list.empty() && !text.starts_with('[')) return kind_of_record(read_json(text));
      list += *line;
      list += '\n';
      if (list.size() > kMaxJsonBytes) return DataKind::kUnknown;
    }
    const nlohmann::ordered_json records = read_json(list);
    if (!records.empty()) return kind_of_record(records.front());
  } catch (const JsonError&) {
  } catch (const StorageError&) {
  }
  return DataKind::kUnknown;
}

// The file that says what a path holds: in a folder, a text before records. Empty if there is none.
std::string telling_file(const std::string& path) {
  if (!directory_exists(path)) return path;
  constexpr auto kAny = std::to_array<std::string_view>({".txt", ".jsonl", ".json"});
  SkipLog others(OnError::kSkip, "");
  const std::vector<std::string> files = source_files(std::span(&path, 1), kAny, others);
  const auto text = std::ranges::find_if_not(files, has_records);
  if (text != files.end()) return *text;
  return files.empty() ? "" : files.front();
}

}  // namespace

DataKind data_kind_at(const std::string& path) {
  if (!no_texts_at(path).empty()) return DataKind::kUnknown;
  for (const std::string& name : named_texts(path, "path")) {
    const std::string file = telling_file(name);
    if (file.empty()) continue;
    if (!has_records(file)) return DataKind::kText;
    return kind_of_records(file);
  }
  return DataKind::kUnknown;
}

ChatSource::ChatSource(const Config& cfg, const Dims&, const Scope& scope)
    : format_(cfg.format), skips_(cfg.on_error, fmt::format("{}.on_error", scope.path)) {
  const std::vector<std::string> named = named_texts(cfg.path.get(), cfg.more_paths, scope.path);
  for (const std::string& path : source_files(named, kEndings, skips_)) read(path);
  if (documents_.empty()) {
    throw DataError(fmt::format("{}: expected conversations, got none{}{}", join(named, ", "),
                                skipped().count > 0 ? "; " : "", to_text(skipped())));
  }
}

void ChatSource::read(const std::string& path) {
  try {
    const size_t before = documents_.size();
    format_ending(path) == ".json" ? read_list(path) : read_lines(path);
    if (documents_.size() > before) ++num_files_;
  } catch (const StorageError& error) {
    skips_.refuse("not readable", path, error.what());
  }
}

void ChatSource::read_lines(const std::string& path) {
  LineReader lines(path);
  bool is_first = true;
  while (const auto line = lines.next()) {
    if (trim(*line).empty()) continue;
    // A list that is spread over lines.
    if (std::exchange(is_first, false) && trim(*line).starts_with('[')) return read_list(path);
    const std::string where = fmt::format("{}:{}", path, lines.number());
    try {
      add(read_json(*line), where);
    } catch (const JsonError& error) {
      skips_.refuse("no conversation", where, fmt::format("{}: {}", where, error.what()));
    }
  }
}

// The file is one JSON list; or lines in a file with the name of one.
void ChatSource::read_list(const std::string& path) {
  std::string text;
  {
    LineReader lines(path);
    while (const auto line = lines.next()) {
      text += *line;
      text += '\n';
      if (text.size() > kMaxJsonBytes) {
        throw StorageError(fmt::format(
            "{}: expected a JSON list of at most {} bytes, got more; write one conversation a line",
            path, kMaxJsonBytes));
      }
      if (lines.number() == 1 && trim(text).starts_with('{') && trim(text).ends_with('}'))
        return read_lines(path);
    }
  }
  const auto fail = [&](const std::string& message) {
    skips_.refuse("no conversation", path, fmt::format("{}: {}", path, message));
  };
  nlohmann::ordered_json list;
  try {
    list = read_json(text);
  } catch (const JsonError& error) {
    return fail(error.what());
  }
  text = {};
  if (!list.is_array()) return fail("expected a list of conversations, got another value");
  int64_t number = 0;
  for (const auto& record : list) {
    const std::string where = fmt::format("{}:{}", path, ++number);
    try {
      add(record, where);
    } catch (const JsonError& error) {
      skips_.refuse("no conversation", where, fmt::format("{}: {}", where, error.what()));
    }
  }
}

void ChatSource::add(const nlohmann::ordered_json& record, const std::string& where) {
  std::string text = messages_of(record, format_).dump();
  num_bytes_ += static_cast<int64_t>(text.size() + sizeof(Document) + where.size());
  constexpr int64_t kPricedAtOnce = int64_t{64} << 20;
  if (num_bytes_ > num_priced_bytes_) {
    check_host_allocation(where, "more conversations", kPricedAtOnce);
    num_priced_bytes_ = num_bytes_ + kPricedAtOnce;
  }
  texts_.push_back(std::move(text));
  documents_.push_back({texts_.back(), where});
}

AXLE_REGISTER(ChatSource)

}  // namespace axle
