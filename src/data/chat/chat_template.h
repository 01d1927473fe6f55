// A model's chat template: conversations to the text that the model was trained on.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/jinja/template.h"
#include "data/chat/jinja/value.h"
#include "data/input.h"

namespace axle {

/// One conversation as values of templates.
struct Conversation {
  std::vector<jinja::Value> messages;  // mappings with a "role" and mostly a "content"
  jinja::Value tools;                  // a list, or none
  /// More variables of the template.
  std::vector<std::pair<std::string, jinja::Value>> variables = {};
};

/// The fields in which messages have calls of tools, and thoughts.
inline constexpr std::array<std::string_view, 2> kCallFields = {"tool_calls", "function_call"};
inline constexpr std::array<std::string_view, 3> kThoughtFields = {"reasoning_content", "reasoning",
                                                                   "thinking"};

/// Reads what messages_of() (chat_layout.h) returned, as text. `messages` names the list. Throws
/// JsonError.
Conversation conversation_of(std::string_view json, const char* messages = "messages");
/// Returns a message with these fields.
jinja::Value message_of(std::string_view role, std::string_view content);
/// Returns the role of a message: "user".
const std::string& role_of(const jinja::Value& message);
/// True for a message of the weight 0.
bool is_unlearned(const jinja::Value& message);
/// True for a message without a text, without a call of a tool and without a thought.
bool says_nothing(const jinja::Value& message);
/// Returns the content of a message if it is a text, else "".
std::string_view content_of(const jinja::Value& message);
/// Returns the text of a part of a content; nullptr if it has none.
const jinja::Value* text_of_part(const jinja::Value& part);
/// Returns the message with another content.
jinja::Value with_content(const jinja::Value& message, jinja::Value content);

/// Renders messages as the library transformers does: the template sees `messages`, `tools`,
/// `documents`, `add_generation_prompt`, the texts of special tokens and further variables.
class ChatTemplate {
 public:
  /// `special_tokens` has names and texts: {"bos_token", "<s>"}. `name` stands for the template in
  /// messages. Throws DataError "<name>:<line>: ..." for what is no template.
  ChatTemplate(std::string_view source, std::string name,
               std::vector<std::pair<std::string, std::string>> special_tokens = {});

  struct Options {
    /// End with what begins an answer, for the model to go on.
    bool add_generation_prompt = false;
    /// More variables, such as {"enable_thinking", false}.
    jinja::Variables variables = {};
    /// What strftime_now() writes, in Unix time; none: the time of the clock.
    std::optional<int64_t> now_secs = {};
  };
  /// Throws DataError as jinja::Template::render() does.
  jinja::Rendering render(std::span<const jinja::Value> messages, const jinja::Value& tools,
                          const Options& options) const;
  /// The same; none where that throws DataError.
  std::optional<jinja::Rendering> try_render(std::span<const jinja::Value> messages,
                                             const jinja::Value& tools,
                                             const Options& options) const;
  /// True if the template has `generation` blocks: they say what an assistant said.
  bool marks_generation() const { return marks_generation_; }
  /// True if the template reads a list of parts, {"type": "text", "text": "..."}, as it reads their
  /// text. One that prints contents as they are would write Python's form of a list.
  bool reads_parts() const { return reads_parts_; }
  const std::string& name() const { return template_.name(); }
  /// The text that it was made from.
  const std::string& source() const { return source_; }
  /// Returns a hash that is equal for templates with the same text and special tokens.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  jinja::Template template_;
  std::string source_;
  std::vector<std::pair<std::string, std::string>> special_tokens_;
  bool marks_generation_;
  bool reads_parts_;
  uint64_t fingerprint_;
};

class Tokenizer;

/// Returns the template of a file, as read_chat_template() reads it; without a file, that of the
/// tokenizer's own files, if they have one. It sees the tokenizer's special tokens. Throws as
/// read_chat_template() and ChatTemplate do.
std::optional<ChatTemplate> find_chat_template(const Tokenizer& tokenizer,
                                               const std::optional<std::string>& file,
                                               std::string_view field);
/// Returns the template of a text; it sees the tokenizer's special tokens. Throws as ChatTemplate
/// does.
ChatTemplate chat_template_of_text(const Tokenizer& tokenizer, std::string_view text,
                                   std::string name);
/// As find_chat_template(), and plain_chat_template() where there is none. Throws DataError, too,
/// for a template that writes the same for any question and answer.
ChatTemplate chat_template_or_plain(const Tokenizer& tokenizer,
                                    const std::optional<std::string>& file, std::string_view field);
/// Returns a template that puts each message between <|im_start|> with its role and <|im_end|>.
ChatTemplate plain_chat_template(const Tokenizer& tokenizer);

/// Returns the text of the chat template in a file: a *.jinja file, a tokenizer_config.json with
/// the field "chat_template", whose template "default" is taken if it has several, or a GGUF file.
/// Throws DataError naming the file and `field`, the config path to set.
std::string read_chat_template(const std::string& path, std::string_view field);

/// Returns the marks that a template ends answers with and that the tokenizer spells: "<|im_end|>".
std::vector<std::string> spelled_ends(const ChatTemplate& chat, const Tokenizer& tokenizer);
/// Adds the text of a template to the facts, and its spelled ends.
void add_template(InputFacts& facts, const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace axle
