#include "data/tokenizers/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {

std::string chat_template_in(const JsonView& tokenizer_config) {
  const auto field = tokenizer_config.find("chat_template");
  if (!field || field->json().is_null()) return {};
  if (!field->json().is_array()) return field->text();
  for (const JsonView& one : field->elements()) {
    if (one.at("name").text() == "default") return one.at("template").text();
  }
  field->fail("a template with the name 'default'");
}

int64_t Tokenizer::encode_memory(std::string_view text) const {
  const EncodeBytes bytes = encode_bytes();
  int64_t longest = 0, stretch = 0;
  bool was_space = false;
  for (const char c : text) {
    const bool is_space = static_cast<uint8_t>(c) <= ' ';
    stretch = is_space == was_space ? stretch + 1 : 1;
    longest = std::max(longest, stretch);
    was_space = is_space;
  }
  return bytes.of_text * std::ssize(text) + bytes.of_stretch * longest;
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  StreamDecoder decoder(*this);
  std::string text;
  for (const int32_t id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

void Tokenizer::check_text_size(std::string_view path, std::string_view text) {
  constexpr size_t kLimit = size_t{1} << 31;
  if (text.size() < kLimit) return;
  throw DataError(
      fmt::format("{}: expected documents of less than {} bytes, got {}; split them, or use --set "
                  "input.source.unit=line",
                  path, kLimit, text.size()));
}

int64_t needed_vocab_size(const Tokenizer& tokenizer) {
  const SpecialIds special = tokenizer.special_ids();
  int64_t out = tokenizer.vocab_size();
  const auto is_needed = [&](int64_t at) {
    const auto id = static_cast<int32_t>(at);
    const bool is_special = tokenizer.piece(id).empty() && !tokenizer.token(id).empty();
    return !is_special || id == special.bos || id == special.eos;
  };
  while (out > 0 && !is_needed(out - 1)) --out;
  return out;
}

namespace {

ByteTrie names_of(const Tokenizer& tokenizer) {
  constexpr size_t kShortest = 3;  // bytes; shorter ones stand in any text
  std::vector<std::string> names;
  for (const int32_t id : tokenizer.added_ids()) {
    std::string name = tokenizer.token(id);
    if (tokenizer.piece(id).empty() && name.size() >= kShortest) names.push_back(std::move(name));
  }
  std::vector<ByteTrie::Entry> entries;
  for (const std::string& name : names) entries.push_back({name, 0});
  return ByteTrie(std::move(entries));
}

}  // namespace

SpecialNames::SpecialNames(const Tokenizer& tokenizer) : names_(names_of(tokenizer)) {}

namespace {
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns the bytes that one U+FFFD stands for.
size_t invalid_size(std::string_view text, InvalidBytes shown) {
  constexpr size_t kMostBytes = 3;  // of a character that lacks bytes
  if (shown == InvalidBytes::kEach) return 1;
  for (size_t size = std::min(text.size(), kMostBytes); size > 1; --size) {
    if (utf8_step(text.substr(0, size)).kind == Utf8Kind::kTruncated) return size;
  }
  return 1;
}

}  // namespace

std::string StreamDecoder::push(int32_t id) {
  std::string_view piece = tokenizer_->piece(id);
  if (at_start_ && !piece.empty()) {
    const LeadingSpace policy = tokenizer_->leading_space(id);
    if (policy != LeadingSpace::kKeep && piece.front() == ' ') piece.remove_prefix(1);
    at_start_ = policy == LeadingSpace::kDropAll && piece.empty();
  }
  pending_ += piece;
  // No character spans a special id, so it also ends a character that is incomplete.
  return take(piece.empty());
}

std::string StreamDecoder::finish() { return take(true); }

std::string StreamDecoder::take(bool at_end) {
  std::string out;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Step step = utf8_step(rest);
    if (step.kind == Utf8Kind::kTruncated && !at_end) break;
    const size_t size = step.kind == Utf8Kind::kComplete
                            ? step.size
                            : invalid_size(rest, tokenizer_->invalid_bytes());
    out += step.kind == Utf8Kind::kComplete ? rest.substr(0, size) : kReplacement;
    rest.remove_prefix(size);
  }
  pending_ = std::string(rest);
  return out;
}

}  // namespace axle
