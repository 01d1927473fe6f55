#include "data/token_files/corpus_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "config/register.h"
#include "data/chat/chat_layout.h"
#include "data/source.h"
#include "data/text_source.h"
#include "io/file_reader.h"

namespace axle {
namespace {

constexpr const char* kNoText = "without a text";
constexpr size_t kHeadBytes = 64 << 10, kPieceBytes = 256 << 10;

void check_plain_text(const std::string& path) {
  const FileReader file(path);
  std::string head(kHeadBytes, '\0');
  head.resize(file.read_some(0, std::as_writable_bytes(std::span(head))));
  std::string_view text = head;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const bool is_all = file.size() <= std::ssize(head);
  if (const auto why = why_no_plain_text(path, text, is_all))
    throw NotText(why->message, why->reason);
}

// Throws for a file whose content, decompressed, is of a format of bytes.
void check_text(const std::string& path, const CorpusFormat& format) {
  if (format.only_plain_text) return check_plain_text(path);
  std::string head(kFormatHeadBytes, '\0');
  head.resize(open_stream(path)->read(head));
  const FileFormat* const found = recognized_format(head);
  if (found && !found->is_useful_text()) {
    throw NotText(fmt::format("{}: expected text or JSON Lines, got {}; {}", path, found->name,
                              advice_on_data(found)));
  }
}

// True if the bytes of UTF-8 end with white space, or with what may be some.
bool may_end_with_space(std::string_view text) {
  constexpr std::string_view kAscii = " \t\n\v\f\r";
  if (text.empty() || kAscii.find(text.back()) != kAscii.npos) return true;
  const std::string_view two = text.substr(text.size() - std::min<size_t>(text.size(), 2));
  const std::string_view three = text.substr(text.size() - std::min<size_t>(text.size(), 3));
  return two[0] == '\xc2' || three.starts_with("\xe1\x9a") || three.starts_with("\xe2\x80") ||
         three.starts_with("\xe2\x81") || three == "\xe3\x80\x80";
}

bool may_begin_with_space(std::string_view text) {
  constexpr std::string_view kFirst = " \t\n\v\f\r\xc2\xe1\xe2";
  return text.empty() || kFirst.find(text[0]) != kFirst.npos || text.starts_with("\xe3\x80\x80");
}

}  // namespace

size_t size_of_part(std::string_view text, size_t limit) {
  const size_t line_end = text.rfind('\n', limit - 1);
  if (line_end != text.npos) return line_end + 1;
  constexpr size_t kLongestCharacter = 4;
  const auto continues = [&](size_t at) { return (text[at] & 0xc0) == 0x80; };
  size_t size = limit;
  while (size + kLongestCharacter > limit && size > 1 && continues(size)) --size;
  return size;
}

CorpusReader::CorpusReader(const std::string& path, const CorpusFormat& format)
    : path_(path), format_(format), is_json_(!format.only_plain_text && names_records(path)) {
  if (!format.only_plain_text && format_ending(path) == ".parquet") {
    try {
      rows_ = std::make_unique<ParquetTexts>(path, format.field);
    } catch (const NoTextColumn& error) {
      throw NotText(error.what(), kNoText);
    }
    return;
  }
  check_text(path, format);
  if (is_json_)
    records_.emplace(path, kNoText, kMaxDocumentBytes);
  else if (is_read_in_parts())
    stream_ = open_stream(path);
  else
    lines_.emplace(path, kMaxDocumentBytes);
}

CorpusReader::CorpusReader(std::string name, std::unique_ptr<ByteStream> stream, bool is_json,
                           const CorpusFormat& format)
    : path_(std::move(name)), format_(format), is_json_(is_json) {
  if (is_read_in_parts()) {
    stream_ = std::move(stream);
    return;
  }
  LineReader lines(path_, std::move(stream), kMaxDocumentBytes);
  if (is_json)
    records_.emplace(path_, std::move(lines), kNoText);
  else
    lines_.emplace(std::move(lines));
}

std::optional<RawDocument> CorpusReader::next() {
  if (rows_) return next_row();
  if (records_) return records_->next();
  if (format_.unit == DocumentUnit::kLine) return next_line();
  if (format_.unit == DocumentUnit::kParagraph) return next_paragraph();
  return stream_ ? next_part() : whole_file();
}

bool CorpusReader::is_read_in_parts() const {
  return format_.part_bytes && !is_json_ && format_.unit == DocumentUnit::kFile;
}

std::optional<RawDocument> CorpusReader::next_row() {
  const auto row = rows_->next();
  if (!row) return std::nullopt;
  RawDocument out{.bytes = {}, .is_missing = !row->text, .line = rows_->number()};
  if (row->text) out.bytes = *row->text;
  check_size(out);
  return out;
}

std::optional<RawDocument> CorpusReader::next_line() {
  while (const auto line = lines_->next()) {
    if (!trim(*line).empty())
      return RawDocument{.bytes = std::string(*line), .line = lines_->number()};
  }
  return std::nullopt;
}

std::optional<RawDocument> CorpusReader::next_paragraph() {
  RawDocument out;
  while (const auto line = lines_->next_with_end()) {
    if (trim(*line).empty()) {
      if (!out.bytes.empty()) break;
      continue;
    }
    if (out.bytes.empty()) out.line = lines_->number();
    out.bytes += *line;
    check_size(out);
  }
  return out.bytes.empty() ? std::nullopt : std::optional(std::move(out));
}

std::optional<RawDocument> CorpusReader::whole_file() {
  if (std::exchange(is_read_, true)) return std::nullopt;
  RawDocument out;
  while (const auto line = lines_->next_with_end()) {
    out.bytes += *line;
    check_size(out);
  }
  return out;
}

std::optional<RawDocument> CorpusReader::next_part() {
  const auto limit = static_cast<size_t>(*format_.part_bytes);
  while (!is_read_ && rest_.size() <= limit) {
    const size_t before = rest_.size();
    rest_.resize(before + kPieceBytes);
    const size_t count = stream_->read(std::span(rest_).subspan(before));
    rest_.resize(before + count);
    is_read_ = count == 0;
  }
  if (!has_begun_ && rest_.starts_with(kByteOrderMark)) rest_.erase(0, kByteOrderMark.size());
  if (rest_.empty() && has_begun_) return std::nullopt;
  const size_t size = rest_.size() <= limit ? rest_.size() : size_of_part(rest_, limit);
  RawDocument out{.bytes = rest_.substr(0, size), .line = rest_line_, .begins = !has_begun_};
  has_begun_ = true;
  rest_.erase(0, size);
  out.ends = rest_.empty();
  rest_line_ += std::ranges::count(out.bytes, '\n');
  return out;
}

std::optional<RawDocument> CorpusReader::next_block(size_t block_bytes) {
  constexpr size_t kLongBlock = size_t{1} << 20;
  if (rows_ || is_json_ || format_.unit != DocumentUnit::kFile) return next();
  const bool is_first = !std::exchange(is_read_, true);
  RawDocument out{.bytes = std::exchange(first_line_, {}),
                  .line = std::max<int64_t>(lines_->number(), 1),
                  .begins = is_first};
  while (const auto line = lines_->next_with_end()) {
    std::string_view before = out.bytes;
    if (before.ends_with('\n')) before.remove_suffix(1);
    const bool is_cut = !may_end_with_space(before) && !may_begin_with_space(*line);
    if (out.bytes.size() >= block_bytes && (is_cut || out.bytes.size() >= kLongBlock)) {
      first_line_ = *line;
      out.ends = false;
      return out;
    }
    out.bytes += *line;
  }
  return out.bytes.empty() && !is_first ? std::nullopt : std::optional(std::move(out));
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
  const auto json = read_record_json(document.bytes);
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object() && !json.contains(field)) {
    std::vector<std::string> names;
    for (const auto& [name, value] : json.items()) names.push_back(name);
    const char* const got = chat_format_of(json)
                                ? "a conversation without it"
                                : "an object without it and without a conversation's, such as "
                                  "'messages' or 'question' with 'answer'";
    throw JsonError(fmt::format("expected the field '{}', got {} ({})", field, got,
                                printable(join(names, ", "))));
  }
  return JsonView(json).at(field).text();
}

CorpusSource::CorpusSource(const Config& cfg, const Dims&, const Scope& scope)
    : skips_(cfg.on_error, fmt::format("{}.on_error", scope.path)) {
  const std::vector<std::string> named = named_texts(cfg.path.get(), cfg.more_paths, scope.path);
  for (const std::string& path : corpus_files(named, scope.path, skips_)) read(path, cfg);
  if (!documents_.empty()) return;
  throw DataError(no_document(named, skipped()));
}

void CorpusSource::read(const std::string& path, const Config& cfg) {
  constexpr int64_t kPricedAtOnce = int64_t{64} << 20;
  const size_t before = documents_.size();
  read_or_leave_out(path, skips_, [&] {
    CorpusReader reader(path, {.field = cfg.field, .unit = cfg.unit});
    while (auto raw = reader.next()) {
      CorpusText one = corpus_text(path, std::move(*raw), reader.is_json(), cfg.field);
      if (!one.reason.empty()) {
        leave_out(one, skips_);
        continue;
      }
      num_bytes_ += std::ssize(one.text) + std::ssize(one.where) +
                    static_cast<int64_t>(sizeof(Document) + sizeof(std::string));
      if (num_bytes_ > num_priced_bytes_) {
        check_host_allocation(path, "more documents", kPricedAtOnce);
        num_priced_bytes_ = num_bytes_ + kPricedAtOnce;
      }
      texts_.push_back(std::move(one.text));
      documents_.push_back({texts_.back(), std::move(one.where)});
    }
  });
  num_files_ += documents_.size() > before;
}

AXLE_REGISTER(CorpusSource)

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
