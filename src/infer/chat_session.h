// A conversation with a model that was trained on a chat template.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/chat/answer_places.h"
#include "data/chat/chat_template.h"
#include "infer/text_generator.h"

namespace axle {

/// Keeps the messages of one conversation. Each answer is generated from all of them.
class ChatSession {
 public:
  /// `system` is the first message, if given. The generator must outlive the session.
  ChatSession(TextGenerator& generator, ChatTemplate chat, std::optional<std::string> system = {});

  /// Adds the user's message and the model's answer to it. Stops where an answer of the template
  /// ends. Throws ConfigError for a message that is not UTF-8 and for a template that leaves out
  /// the first messages, DataError if the template refuses the conversation, and as
  /// TextGenerator::generate does; the conversation is then as before.
  GeneratedText answer(std::string_view message, GenerateOptions options,
                       const TextGenerator::OnText& on_text = {});

 private:
  void check_written(std::span<const jinja::Value> messages, const std::string& prompt) const;

  TextGenerator& generator_;
  ChatTemplate chat_;
  AnswerEnd end_;
  std::vector<jinja::Value> messages_;
};

/// Returns the template of the model: of the given file, the one that it was trained on
/// (trained_chat_template), or that of the tokenizer's files. Throws ConfigError if there is none,
/// and as find_chat_template() does.
ChatTemplate chat_template_of(const LoadedModel& loaded, const std::optional<std::string>& file);

}  // namespace axle
