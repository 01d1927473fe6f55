#include "infer/chat_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text/utf8.h"
#include "interop/trained_chat_template.h"

namespace axle {
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

}  // namespace axle
