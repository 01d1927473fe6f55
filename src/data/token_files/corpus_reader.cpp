#include "data/token_files/corpus_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "data/source_files.h"
#include "io/byte_stream.h"

namespace axle {
namespace {

bool names_json(const std::string& path) {
  const std::string ending = format_ending(path);
  return ending == ".jsonl" || ending == ".ndjson" || ending == ".json";
}

// Throws for a file whose content, decompressed, is of a format of bytes.
const std::string& checked_text(const std::string& path) {
  std::string head(kFormatHeadBytes, '\0');
  head.resize(open_stream(path)->read(head));
  const FileFormat* const format = recognized_format(head);
  if (format && !format->is_text)
    throw NotText(fmt::format("{}: expected text or JSON Lines, got {}", path, to_text(*format)));
  return path;
}

}  // namespace

CorpusReader::CorpusReader(const std::string& path, DocumentUnit unit)
    : path_(path),
      unit_(unit),
      is_json_(names_json(path)),
      lines_(checked_text(path), kMaxDocumentBytes) {}

std::optional<RawDocument> CorpusReader::next() {
  if (is_json_ || unit_ == DocumentUnit::kLine) return next_line();
  return unit_ == DocumentUnit::kParagraph ? next_paragraph() : whole_file();
}

std::optional<RawDocument> CorpusReader::next_line() {
  while (const auto line = lines_.next()) {
    if (!trim(*line).empty()) return RawDocument{std::string(*line), lines_.number()};
  }
  return std::nullopt;
}

std::optional<RawDocument> CorpusReader::next_paragraph() {
  RawDocument out;
  while (const auto line = lines_.next_with_end()) {
    if (trim(*line).empty()) {
      if (!out.bytes.empty()) break;
      continue;
    }
    if (out.bytes.empty()) out.line = lines_.number();
    out.bytes += *line;
    check_size(out);
  }
  return out.bytes.empty() ? std::nullopt : std::optional(std::move(out));
}

std::optional<RawDocument> CorpusReader::whole_file() {
  if (std::exchange(is_read_, true)) return std::nullopt;
  RawDocument out;
  while (const auto line = lines_.next_with_end()) {
    out.bytes += *line;
    check_size(out);
  }
  return out;
}

void CorpusReader::check_size(const RawDocument& document) const {
  if (document.bytes.size() <= kMaxDocumentBytes) return;
  throw StorageError(
      fmt::format("{}:{}: expected a document of at most {}, got a larger one; "
                  "split it, or read it by lines or paragraphs (--unit)",
                  path_, document.line, bytes_text(kMaxDocumentBytes)));
}

std::string text_of_document(RawDocument document, bool is_json, std::string_view field) {
  if (!is_json) return std::move(document.bytes);
  const auto json = read_json(document.bytes);
  return JsonView(json).at(field).text();
}

}  // namespace axle
