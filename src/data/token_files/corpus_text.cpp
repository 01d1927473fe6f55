#include "data/token_files/corpus_text.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/bad_text.h"
#include "data/source_files.h"
#include "data/text_source.h"

namespace axle {

std::string no_document(std::span<const std::string> sources, const Skipped& skipped) {
  constexpr size_t kMost = 3;
  const std::string named = sources.size() <= kMost
                                ? join({sources.begin(), sources.end()}, ", ")
                                : fmt::format("{} and {} others", sources[0], sources.size() - 1);
  return fmt::format("{}: expected texts, got no document{}{}", named,
                     skipped.count > 0 ? "; " : "", to_text(skipped));
}

std::vector<std::string> corpus_files(std::span<const std::string> sources, std::string_view field,
                                      SkipLog& skips) {
  std::vector<std::string> named;
  for (const std::string& source : sources) {
    for (std::string& path : named_texts(source, field)) named.push_back(std::move(path));
  }
  std::vector<std::string> out = source_files(named, kTextEndings, skips);
  if (out.empty()) throw DataError(no_document(sources, skips.skipped()));
  return out;
}

std::vector<int64_t> sizes_of_files(std::span<const std::string> files) {
  std::vector<int64_t> out;
  for (const std::string& file : files) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    out.push_back(error ? 0 : static_cast<int64_t>(bytes));
  }
  return out;
}

CorpusText corpus_text(const std::string& path, RawDocument document, bool is_json,
                       std::string_view field) {
  const int64_t line = document.line;
  CorpusText out{
      .where = fmt::format("{}:{}", path, line), .begins = document.begins, .ends = document.ends};
  if (document.is_missing) {
    out.reason = "without a text";
    out.message = fmt::format("{}: expected a text in the column '{}', got none", out.where, field);
    return out;
  }
  try {
    out.text = text_of_document(std::move(document), is_json, field);
  } catch (const JsonError& error) {
    out.reason = "without a text";
    out.message = fmt::format("{}: {}", out.where, error.what());
    return out;
  }
  if (out.begins && out.ends && trim(out.text).empty()) {
    out.reason = "empty";
  } else if (auto bad = bad_text(path, line, out.text)) {
    out.where = std::move(bad->where);
    out.reason = std::move(bad->reason);
    out.message = std::move(bad->message);
  }
  return out;
}

void leave_out(const CorpusText& document, SkipLog& skips) {
  if (document.message.empty())
    skips.skip(document.reason, document.where);
  else
    skips.refuse(document.reason, document.where, document.message);
}

bool read_or_leave_out(const std::string& path, SkipLog& skips, const std::function<void()>& read) {
  std::string reason, message;
  try {
    read();
    return true;
  } catch (const StorageError& error) {
    reason = "not readable to the end";
    message = error.what();
  } catch (const NotText& error) {
    reason = error.reason;
    message = error.what();
  }
  skips.refuse(reason, path, message);
  return false;
}

}  // namespace axle
