#include "evaluate/model/token_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/chat/jinja/unicode.h"

namespace axle {
namespace {

// The begin token that the tokenizer's files name, even if they put it before no text.
std::optional<int32_t> named_begin(const Tokenizer& tokenizer) {
  for (const auto& [name, text] : tokenizer.chat_settings().special_tokens) {
    if (name != "bos_token") continue;
    const std::vector<int32_t> ids = tokenizer.encode_with_special(text);
    if (ids.size() == 1) return ids[0];
  }
  return std::nullopt;
}

int32_t first_token(const Tokenizer& tokenizer) {
  const SpecialIds special = tokenizer.special_ids();
  if (special.bos) return *special.bos;
  if (const auto begin = named_begin(tokenizer)) return *begin;
  if (special.eos) return *special.eos;
  throw DataError(
      "tokenizer: expected a begin or an end token to stand before the first token of a text, got "
      "a vocabulary without either");
}

}  // namespace

RowEncoder::RowEncoder(const Tokenizer& tokenizer, int64_t max_len)
    : tokenizer_(tokenizer),
      max_len_(max_len),
      first_(first_token(tokenizer)),
      first_text_(tokenizer.token(first_)) {}

std::vector<int32_t> RowEncoder::encode(std::string_view text) const {
  std::vector<int32_t> ids = tokenizer_.encode_with_special(text);
  const bool has_first = !first_text_.empty() && text.starts_with(first_text_);
  return has_first ? ids : tokenizer_.framed(std::move(ids));
}

ScoredRow RowEncoder::prompt(std::string_view text, int64_t num_generated) const {
  const int64_t most = max_len_ - num_generated;
  if (most < 1) {
    throw ConfigError(fmt::format(
        "generation_kwargs: max_gen_toks: expected fewer than the model's {} tokens, got {}",
        max_len_, num_generated));
  }
  std::vector<int32_t> ids = encode(text);
  if (ids.empty()) ids.push_back(first_);
  const int64_t num_cut = std::max<int64_t>(0, std::ssize(ids) - most);
  ids.erase(ids.begin(), ids.begin() + num_cut);
  return {.inputs = std::move(ids), .targets = {}, .num_cut = num_cut};
}

ScoredRow RowEncoder::pair(std::string_view context, std::string_view continuation) const {
  std::vector<int32_t> all;
  size_t num_context = 1;
  if (context.empty()) {
    all = tokenizer_.encode_with_special(continuation);
    if (all.empty() || all[0] != first_) all.insert(all.begin(), first_);
  } else {
    const std::string_view kept = jinja::stripped(context, jinja::Sides::kRight);
    all = encode(std::string(context) + std::string(continuation));
    num_context = std::min(encode(kept).size(), all.size());
    if (num_context == 0) {
      all.insert(all.begin(), first_);
      num_context = 1;
    }
  }
  const auto num_targets = static_cast<int64_t>(all.size() - num_context);
  if (num_targets == 0) throw DataError("expected a continuation with tokens of its own, got none");
  if (num_targets > max_len_) {
    throw DataError(fmt::format("expected a continuation of at most the model's {} tokens, got {}",
                                max_len_, num_targets));
  }
  const int64_t num_cut = std::max<int64_t>(0, std::ssize(all) - max_len_ - 1);
  return {.inputs = {all.begin() + num_cut, all.end() - 1},
          .targets = {all.end() - num_targets, all.end()},
          .num_cut = num_cut};
}

std::vector<ScoredRow> RowEncoder::windows(std::string_view text,
                                           std::optional<int64_t> stride) const {
  std::vector<int32_t> all = encode(text);
  const int64_t n = std::ssize(all), advance = std::min(stride.value_or(max_len_), max_len_);
  all.insert(all.begin(), first_);
  std::vector<ScoredRow> out;
  for (int64_t done = 0; done < n;) {
    const int64_t end = std::min(n, done + (done == 0 ? max_len_ : advance));
    // Token i is all[i + 1], and the inputs before it end with all[i].
    const int64_t begin = std::max<int64_t>(0, end - max_len_);
    out.push_back({.inputs = {all.begin() + begin, all.begin() + end},
                   .targets = {all.begin() + done + 1, all.begin() + end + 1}});
    done = end;
  }
  return out;
}

}  // namespace axle
