#include "infer/chat_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text/unicode.h"
#include "data/chat/written_messages.h"
#include "interop/tokenizer_files.h"

namespace axle {
namespace {

constexpr ChatTemplate::Options kPrompt{.add_generation_prompt = true};

}  // namespace

ChatSession::ChatSession(TextGenerator& generator, ChatTemplate chat,
                         std::optional<std::string> system)
    : generator_(generator),
      chat_(std::move(chat)),
      end_(answer_end(chat_, generator.tokenizer())) {
  if (system) messages_.push_back(message_of("system", *system));
}

// Some templates write no message of the system. A text that is no template writes none at all.
void ChatSession::check_written(std::span<const jinja::Value> messages,
                                const std::string& prompt) const {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!leaves_out(chat_, messages, i, {}, kPrompt, prompt)) continue;
    const bool is_system = role_of(messages[i]) == "system";
    throw ConfigError(fmt::format(
        "{}: expected a chat template that writes {}, got one that leaves it out{}; name another "
        "by --chat-template",
        is_system ? "--system" : chat_.name(), is_system ? "it" : "the user's message",
        is_system ? fmt::format(" ({})", chat_.name()) : ""));
  }
}

GeneratedText ChatSession::answer(std::string_view message, GenerateOptions options,
                                  const TextGenerator::OnText& on_text) {
  if (const auto at = find_invalid_utf8(message)) {
    throw ConfigError(
        fmt::format("prompt: expected UTF-8, got an invalid byte at byte {}", *at + 1));
  }
  std::vector<jinja::Value> messages = messages_;
  messages.push_back(message_of("user", message));
  std::string prompt = chat_.render(messages, {}, kPrompt).text;
  const bool has_answer = !messages_.empty() && role_of(messages_.back()) == "assistant";
  if (!has_answer) check_written(messages, prompt);
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
