#include "data/chat/answer_end.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text/text.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {
namespace {

// Returns the token that the tail begins with, if the template means it as one. An added token that
// is no special one may also be a word of answers: it counts only with nothing but tokens with it.
std::optional<int32_t> first_token(std::string_view tail, const Tokenizer& tokenizer) {
  const auto is_special = [&](int32_t id) { return tokenizer.piece(id).empty(); };
  const std::vector<int32_t> ids = tokenizer.encode_with_special(tail);
  if (ids.empty()) return std::nullopt;
  if (is_special(ids.front())) return ids.front();
  const std::vector<int32_t> added = tokenizer.added_ids();
  const std::string_view word = tail.substr(0, tail.find_first_of(" \t\r\n"));
  const std::vector<int32_t> of_word = tokenizer.encode_with_special(word);
  const bool is_all_added = std::ranges::all_of(
      of_word, [&](int32_t id) { return std::ranges::binary_search(added, id); });
  return is_all_added && !of_word.empty() ? std::optional(of_word.front()) : std::nullopt;
}

}  // namespace

AnswerEnd answer_end(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  constexpr std::string_view kAnswer = "9b1e7c45";  // no template has it
  const jinja::Value messages[] = {message_of("user", "?"), message_of("assistant", kAnswer)};
  const auto rendered = chat.try_render(messages, {}, {});
  if (!rendered) return {};
  const std::string& text = rendered->text;
  const size_t at = text.rfind(kAnswer);
  if (at == text.npos) return {};
  const std::string_view tail = trim(std::string_view(text).substr(at + kAnswer.size()));
  if (tail.empty()) return {};
  if (const auto token = first_token(tail, tokenizer)) return {.tokens = {*token}};
  return {.texts = {std::string(tail)}};
}

}  // namespace axle
