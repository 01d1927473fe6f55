// Generation of text: takes a prompt, and returns text piece by piece.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/answer_spans.h"
#include "data/chat/chat_template.h"
#include "infer/generator.h"
#include "interop/model_folder.h"

namespace axle {

/// Holds back text that may be the beginning of an end.
class EndTexts {
 public:
  /// Empty texts end nothing.
  explicit EndTexts(std::vector<std::string> ends);
  /// Returns the text that can be shown after this piece: all before the first end, or before what
  /// may become one.
  std::string push(std::string_view piece);
  /// True once an end has come. Later pieces are left out.
  bool found() const { return found_; }
  /// Returns what is held back; there is no further piece.
  std::string finish();

 private:
  std::vector<std::string> ends_;
  std::string held_;
  bool found_ = false;
};

struct GeneratedText {
  std::string prompt;
  std::string text;  // the generated text, without the prompt
  int64_t prompt_tokens = 0;
  GeneratedRow row = {};
  double prefill_secs = 0, tokens_per_sec = 0;
};
nlohmann::ordered_json to_json(const GeneratedText& generated);
/// Returns "86 tokens (max_tokens), 4100.2 tokens/s, prefill of 5 in 1.3 ms".
std::string speed_text(const GeneratedText& generated);

/// A language model that continues texts.
class TextGenerator {
 public:
  /// Throws as Generator does.
  TextGenerator(LoadedModel loaded, Runtime& runtime, CompileOptions compile = {}, Mesh mesh = {});

  /// Called with each new piece of text. A piece is not empty and holds whole characters.
  using OnText = std::function<void(std::string_view text)>;
  /// Continues the prompt, after the vocabulary's begin token if it has one. Stops at the tokens
  /// that end a text or begin another one, at `options.end_tokens`, and at `options.end_texts`,
  /// which are left out of the text, though not of the tokens. Throws ConfigError for a prompt that
  /// is not UTF-8, and as Generator::generate does.
  GeneratedText generate(std::string_view prompt, GenerateOptions options,
                         const OnText& on_text = {});
  /// Continues these tokens; `prompt` is their text. Throws ConfigError for one that the model has
  /// no row for, and as above.
  GeneratedText generate(TokenIds ids, std::string prompt, GenerateOptions options,
                         const OnText& on_text = {});
  const Tokenizer& tokenizer() const { return *loaded_.tokenizer; }

 private:
  LoadedModel loaded_;
  Generator generator_;
};

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
