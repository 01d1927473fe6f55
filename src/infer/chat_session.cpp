#include "infer/chat_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "interop/trained_chat_template.h"

namespace axle {
namespace {

jinja::Value message_of(std::string_view role, std::string_view content) {
  return jinja::Value::dict({{"role", role}, {"content", content}});
}

}  // namespace

ChatSession::ChatSession(TextGenerator& generator, ChatTemplate chat,
                         std::optional<std::string> system)
    : generator_(generator),
      chat_(std::move(chat)),
      end_(answer_end(chat_, generator.tokenizer())) {
  if (system) messages_.push_back(message_of("system", *system));
}

GeneratedText ChatSession::answer(std::string_view message, GenerateOptions options,
                                  const TextGenerator::OnText& on_text) {
  if (const auto at = find_invalid_utf8(message)) {
    throw ConfigError(
        fmt::format("prompt: expected UTF-8, got an invalid byte at byte {}", *at + 1));
  }
  std::vector<jinja::Value> messages = messages_;
  messages.push_back(message_of("user", message));
  std::string prompt = chat_.render(messages, {}, {.add_generation_prompt = true}).text;
  std::ranges::copy(end_.tokens, std::back_inserter(options.end_tokens));
  std::ranges::copy(end_.texts, std::back_inserter(options.end_texts));
  TokenIds ids = generator_.tokenizer().encode_with_special(prompt);
  GeneratedText out =
      generator_.generate(std::move(ids), std::move(prompt), std::move(options), on_text);
  messages.push_back(message_of("assistant", out.text));
  messages_ = std::move(messages);
  return out;
}

ChatTemplate chat_template_of(const LoadedModel& loaded, const std::optional<std::string>& file) {
  if (!file) {
    if (auto trained = trained_chat_template(loaded)) return std::move(*trained);
  }
  if (auto found = find_chat_template(*loaded.tokenizer, file, "--chat-template"))
    return std::move(*found);
  throw ConfigError(
      "--chat: expected a model with a chat template, got one without; name the file of one by "
      "--chat-template");
}

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
  const TokenIds ids = tokenizer.encode_with_special(tail);
  if (!ids.empty() && tokenizer.piece(ids.front()).empty()) return {.tokens = {ids.front()}};
  return {.texts = {std::string(tail)}};
}

}  // namespace axle
