#include "data/chat/answer_end.h"

#include <string_view>

#include "base/text/text.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

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
  const std::vector<int32_t> ids = tokenizer.encode_with_special(tail);
  if (!ids.empty() && tokenizer.piece(ids.front()).empty()) return {.tokens = {ids.front()}};
  return {.texts = {std::string(tail)}};
}

}  // namespace axle
